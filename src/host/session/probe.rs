//! What the exporters of a backend can do, found by **probing** once.

use super::super::export::{self, Exportee};
use super::super::{Detail, Error};
use super::Session;
use crate::abi::DLDevice;
use crate::backend::{Built, Inexpressible};
use crate::case::{Arg, Call, Dtype, Keyword, Probe, Tensor, Vocabulary};
use crate::oracle::{ErrorClass, Exporter, Outcome, Route};
use pyo3::prelude::*;
use pyo3::types::PyType;

/// Kept answers; more are forgotten at once, as they cost five calls to find again.
const MOST_CLASSES: usize = 64;

impl Session {
    /// The array for which any would do, with its type.
    pub(super) fn ordinary<'py>(&self, py: Python<'py>) -> Result<(Built<'py>, Dtype), Error> {
        let Vocabulary { devices, ordinary, .. } = self.backend.vocabulary();
        let device = devices.first().copied().unwrap_or(DLDevice::CPU);
        let tensor = Tensor { device, ..ordinary };
        let built = self.backend.build(py, &tensor).map_err(|Inexpressible(reason)| {
            let what =
                if tensor.dtype == Dtype::FLOAT32 { "six float32" } else { "its ordinary array" };
            Error(format!("{} cannot build {what}: {reason}", self.backend.name()))
        })?;
        Ok((built, tensor.dtype))
    }

    /// Which keywords an exporter takes: each once, with `None` (P-KEYWORD).
    fn keywords(&self, py: Python<'_>, exportee: &Exportee<'_, '_>) -> [bool; 4] {
        Keyword::ALL.map(|keyword| {
            let call = Call::default().with(keyword, Arg::NONE);
            let made = self.exporting.export(py, exportee, &call, Detail::Brief);
            !made.is_ok_and(|made| is_type_error(&made.outcome))
        })
    }

    /// What is known of the array's class. A library may have several, and a TypeError of one that was not
    /// probed may be for want of a keyword; not so where an array raises one without any.
    pub(super) fn exporter_of<'a>(
        &self,
        py: Python<'_>,
        built: &Built<'_>,
        tensor: &Tensor,
        mut outcomes: impl Iterator<Item = &'a Outcome>,
    ) -> Exporter {
        let class = built.object.get_type();
        let is_probed = self.ordinary_class.as_ref().is_none_or(|probed| class.is(probed));
        if is_probed || !outcomes.any(is_type_error) {
            return self.exporter;
        }
        let known =
            |(known, exporter): &(Py<PyType>, Exporter)| class.is(known).then_some(*exporter);
        if let Some(exporter) = self.classes.borrow().iter().find_map(known) {
            return exporter;
        }
        // Preferably an array of the class with which nothing else is the matter.
        let Vocabulary { ordinary, .. } = self.backend.vocabulary();
        let plainer = Tensor { object: tensor.object, device: tensor.device, ..ordinary };
        let exporter = match self.backend.build(py, &plainer) {
            Ok(other) if other.object.get_type().is(&class) => {
                self.exporter_by(py, &other, plainer.dtype)
            }
            _ => self.exporter_by(py, built, tensor.dtype),
        };
        let mut classes = self.classes.borrow_mut();
        // Some arrays have a class of their own.
        if classes.len() >= MOST_CLASSES {
            classes.clear();
        }
        classes.push((class.unbind(), exporter));
        exporter
    }

    fn exporter_by(&self, py: Python<'_>, built: &Built<'_>, dtype: Dtype) -> Exporter {
        let exportee = Exportee { object: &built.object, source: &built.source, dtype, own: None };
        let plain = self.exporting.export(py, &exportee, &Call::default(), Detail::Brief);
        if plain.is_ok_and(|made| is_type_error(&made.outcome)) {
            return self.exporter;
        }
        Exporter { keywords: self.keywords(py, &exportee), ..self.exporter }
    }

    /// Which methods and keywords the exporters have.
    pub(super) fn probe(&mut self, py: Python<'_>) -> Result<Exporter, Error> {
        let traits = self.backend.traits();
        let (built, dtype) = self.ordinary(py)?;
        self.ordinary_class = Some(built.object.get_type().unbind());
        let methods = ["__dlpack__", "__dlpack_device__"]
            .map(|method| built.object.hasattr(method).unwrap_or(false));
        let (_, own) = self.exporting.device(py, &built.object, Detail::Brief);
        let exportee =
            Exportee { object: &built.object, source: &built.source, dtype, own: own.as_ref() };
        let newest = Probe::Version199.call(&Call::default(), DLDevice::CPU);
        let python_destructor =
            (self.exporting.export(py, &exportee, &Call::default(), Detail::Brief))
                .ok()
                .and_then(|made| export::is_destructor_generated(made.result.as_ref()?))
                .unwrap_or(traits.python_destructor);
        let versioned = (self.exporting.export(py, &exportee, &newest, Detail::Brief))
            .is_ok_and(|made| made.outcome.managed().is_some_and(|it| it.version.is_some()));
        Ok(Exporter {
            route: Route::Python,
            keywords: self.keywords(py, &exportee),
            methods,
            claims: traits.claims,
            versioned,
            mutable: traits.mutable,
            has_readonly: traits.has_readonly,
            python_destructor,
        })
    }
}

fn is_type_error(outcome: &Outcome) -> bool {
    outcome.raised().is_some_and(|raised| raised.class == ErrorClass::Type)
}
