//! What a **lawful** exporter does: the answer to one call on the array of a scene.

use super::*;

impl Scene {
    /// What a lawful exporter does with this call.
    pub(super) fn lawful(&mut self, call: &Call) -> Outcome {
        let tensor = &self.case.tensor;
        let own = tensor.device;
        if call.extra != Extra::Nothing {
            return raised(ErrorClass::Type);
        }
        let kind = match call.max_version.value() {
            None | Some(&Value::NONE) => Kind::Legacy,
            Some(value) => match value.as_pair() {
                Some((1.., _)) => Kind::Versioned,
                Some(_) => Kind::Legacy,
                None => return raised(ErrorClass::Type),
            },
        };
        let target = match call.dl_device.value() {
            None | Some(&Value::NONE | Value::Own) => own,
            Some(value) => match value.as_pair() {
                Some((1, 0)) => DLDevice::CPU,
                Some((device, id)) => {
                    if (device, id) != (i64::from(own.device_type.0), i64::from(own.device_id)) {
                        return raised(ErrorClass::Buffer);
                    }
                    own
                }
                None => return raised(ErrorClass::Type),
            },
        };
        let is_stream = match call.stream.value() {
            None | Some(&Value::NONE) => true,
            Some(Value::Scalar(Scalar::Int(-1 | 3..))) => target != DLDevice::CPU,
            Some(Value::Scalar(Scalar::Int(1 | 2))) => matches!(target.device_type.0, 2 | 13),
            Some(Value::Scalar(Scalar::Int(0))) => target.device_type == DLDeviceType::ROCM,
            _ => false,
        };
        if !is_stream {
            return raised(ErrorClass::Value);
        }
        let copy = match call.copy.value() {
            None | Some(&Value::NONE) => None,
            Some(Value::Scalar(Scalar::Bool(copy))) => Some(*copy),
            Some(_) => return raised(ErrorClass::Value),
        };
        let moves = target != own;
        if moves && copy == Some(false) || matches!(self.seen.source.exportable, Exportable::No(_))
        {
            return raised(ErrorClass::Buffer);
        }
        let is_copy = moves || copy == Some(true);
        let is_readonly = tensor.access == Access::ReadOnly && !is_copy;
        if is_readonly && kind == Kind::Legacy {
            return raised(ErrorClass::Buffer);
        }
        let Some(strides) = strides_in_elements(tensor) else {
            return raised(ErrorClass::Buffer);
        };
        let Some(dtype) = tensor.dtype.info().triple else {
            return raised(ErrorClass::Buffer);
        };
        let pointer = COPIES + self.copies * STEP + STEP / 2;
        let data = if is_copy {
            COPIES + self.copies * STEP
        } else {
            self.seen.source.address.expect("a scene knows its source")
        };
        self.copies += 1;
        let (shape_pointer, strides_pointer) =
            if tensor.shape.is_empty() { (0, 0) } else { (pointer + 80, pointer + 80 + 512) };
        let has_elements = tensor.size() > 0;
        let exported = DlTensor {
            data,
            device: target,
            ndim: tensor.shape.len() as i32,
            dtype,
            shape_pointer,
            strides_pointer,
            shape: tensor.shape.clone(),
            strides: if is_copy { compact(tensor) } else { strides },
            byte_offset: 0,
            elements: if has_elements { Elements::Same } else { Elements::NotRead("size 0") },
            memory: match (has_elements, is_copy) {
                (false, _) => Memory::Unknown,
                (true, true) => Memory::Distinct,
                (true, false) => Memory::Alias,
            },
            write_through: match (has_elements && !is_readonly, is_copy) {
                (false, _) => WriteThrough::NotTried,
                (true, true) => WriteThrough::Separate,
                (true, false) => WriteThrough::Shared,
            },
        };
        let flags =
            (u64::from(is_readonly) * FLAG_READ_ONLY) | (u64::from(is_copy) * FLAG_IS_COPIED);
        let is_versioned = kind == Kind::Versioned;
        Outcome::Capsule(Box::new(Capsule {
            exact: true,
            name: if is_versioned { CapsuleName::Versioned } else { CapsuleName::Legacy },
            name_address: if is_versioned { VERSIONED_NAME } else { LEGACY_NAME },
            has_destructor: true,
            pointer,
            managed: Some(Managed {
                kind,
                version: is_versioned.then_some(DLPackVersion { major: 1, minor: 0 }),
                flags: if is_versioned { flags } else { 0 },
                has_deleter: true,
                tensor: Some(exported),
            }),
            error_pending: false,
        }))
    }
}

/// `None` where a stride that counts is no multiple of the item size.
pub(super) fn strides_in_elements(tensor: &Tensor) -> Option<Strides> {
    let item = tensor.dtype.item_size() as i64;
    let empty = tensor.size() == 0;
    (tensor.byte_strides().iter().zip(&tensor.shape))
        .map(|(&stride, &extent)| match item {
            0 => None,
            _ if stride % item == 0 => Some(stride / item),
            _ => (extent <= 1 || empty).then_some(1),
        })
        .collect()
}

/// Row-major strides in elements.
fn compact(tensor: &Tensor) -> Strides {
    let mut strides = Strides::from_elem(1, tensor.shape.len());
    for axis in (0..tensor.shape.len().saturating_sub(1)).rev() {
        strides[axis] = strides[axis + 1].saturating_mul(tensor.shape[axis + 1].max(1));
    }
    strides
}
