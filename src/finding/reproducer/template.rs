//! The parts of reproducers, from `reproducer.py.in`, `exchange.py.in` and `life.py.in`.

use crate::finding::python::Needs;

/// A part of the template.
pub struct Part {
    pub name: &'static str,
    pub needs: Vec<&'static str>,
    pub code: &'static str,
}

impl Part {
    pub fn is_import(&self) -> bool {
        self.name.starts_with("import ")
    }
}

pub fn template() -> Vec<Part> {
    let files = [
        include_str!("../reproducer.py.in"),
        include_str!("exchange.py.in"),
        include_str!("life.py.in"),
    ];
    let sections = files.into_iter().flat_map(|file| file.split("#:: ").skip(1));
    sections
        .map(|section| {
            let (head, code) = section.split_once('\n').expect("a part has a line of its own");
            let (name, needs) = head.split_once(':').expect("a part's name ends with a colon");
            let needs = needs.split(',').map(str::trim).filter(|need| !need.is_empty()).collect();
            Part { name, needs, code }
        })
        .collect()
}

/// The parts that are needed, with what they need themselves, in the template's order.
pub fn parts(needs: &Needs) -> Vec<Part> {
    let mut parts = template();
    let mut wanted: Vec<&str> = needs.0.iter().copied().collect();
    let mut place = 0;
    while place < wanted.len() {
        let more =
            parts.iter().find(|part| part.name == wanted[place]).map(|part| part.needs.clone());
        for need in more.unwrap_or_default() {
            if !wanted.contains(&need) {
                wanted.push(need);
            }
        }
        place += 1;
    }
    parts.retain(|part| wanted.contains(&part.name));
    parts
}
