//! **Text → case**: the way back from [`Display`](std::fmt::Display). Goes in: one case in text form, as a
//! report or a corpus file names it. Comes out: the case, or a [`ParseError`] that tells the column and
//! what was expected there. Spaces between words do not matter, nor the order of the array's properties.

mod words;

use super::life::{Life, Step};
use super::text::HUGE;
use super::{Access, Arg, Call, Case, Contents, Dtype, ExchangeStep, Extra, Keys, Keyword, Layout};
use super::{Object, Probe, Probes, Scalar, SeqKind, Shape, Strides, Tensor, Value};
use crate::abi::{DLDevice, DLDeviceType};
use smallvec::SmallVec;
use std::fmt;
use std::str::FromStr;
use words::{Parsed, Parser};

/// Why a text is no case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Where, counted in characters from 1.
    pub column: usize,
    /// What should stand there.
    pub expected: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "column {}: expected {}", self.column, self.expected)
    }
}

impl std::error::Error for ParseError {}

impl FromStr for Case {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut parser = Parser::new(text);
        let tensor = parser.tensor()?;
        parser.token(".__dlpack__")?;
        let call = parser.call()?;
        let probes = if parser.eat("+") { parser.probes()? } else { Probes::NONE };
        let life = if parser.eat("then") { parser.life()? } else { Life::default() };
        let case = Self { tensor, call, probes, life };
        if !parser.rest().is_empty() {
            return parser.fail("nothing more");
        }
        let normal = case.clone().normalized();
        if normal != case {
            let expected = format!("a case within the limits; the nearest one is {normal}");
            return Err(ParseError { column: 1, expected });
        }
        Ok(case)
    }
}

impl Parser<'_> {
    fn tensor(&mut self) -> Parsed<Tensor> {
        const NAMES: [&str; 9] = [
            "shape", "dtype", "order", "strides", "lead", "writable", "contents", "object",
            "device",
        ];
        let mut tensor = Tensor::plain();
        let (mut strides, mut lead) = (None, 0);
        let mut seen = [false; NAMES.len()];
        self.token("array")?;
        self.token("(")?;
        while !self.eat(")") {
            let start = self.start();
            let name = self.word();
            let Some(place) = NAMES.iter().position(|&known| known == name) else {
                return self.fail_at(start, &format!("one of {}", NAMES.join(", ")));
            };
            if std::mem::replace(&mut seen[place], true) {
                return self.fail_at(start, &format!("{name} only once"));
            }
            self.token("=")?;
            match name {
                "shape" => tensor.shape = self.numbers()?,
                "dtype" => tensor.dtype = self.dtype()?,
                "order" => tensor.layout = self.order()?,
                "strides" => strides = Some((self.start(), self.numbers()?)),
                "lead" => lead = self.number("a number of bytes below 256")?,
                "writable" => tensor.access = self.access()?,
                "contents" => tensor.contents = Contents(self.number("a number below 256")?),
                "object" => tensor.object = self.object()?,
                _ => tensor.device = self.device()?,
            }
            self.separator(")")?;
        }
        if !seen[0] {
            return self.fail("shape=(...) in the brackets of array");
        }
        if let Some((start, strides)) = strides {
            let strides: Strides = strides;
            if tensor.layout != Layout::C || strides.len() != tensor.shape.len() {
                return self.fail_at(start, "as many strides as the shape has axes, and no order");
            }
            tensor.layout = Layout::Strided { strides, lead };
        } else if lead != 0 {
            return self.fail("strides=(...) together with lead");
        }
        Ok(tensor)
    }

    fn dtype(&mut self) -> Parsed<Dtype> {
        let start = self.start();
        let text = self.quoted()?;
        let name = text.strip_prefix("swapped ");
        let (base, size) = match name.unwrap_or(text).split_once('[') {
            Some((base, size)) => {
                (base, size.strip_suffix(']').and_then(|size| size.parse::<u16>().ok()))
            }
            None => (name.unwrap_or(text), Some(0)),
        };
        let sized = text.contains('[');
        let known = size.and_then(|size| Dtype::named(base, size));
        match known.filter(|dtype| dtype.is_flexible() == sized) {
            Some(plain) if name.is_none() => Ok(plain),
            Some(plain) if plain.has_byte_order() => Ok(plain.swapped()),
            _ => {
                self.fail_at(start,
                    "a dtype, such as 'float32', 'swapped int16' or 'void[0]' (str, bytes and void have a size)",
                )
            }
        }
    }

    fn order(&mut self) -> Parsed<Layout> {
        let start = self.start();
        match self.quoted()? {
            "C" => Ok(Layout::C),
            "F" => Ok(Layout::F),
            _ => self.fail_at(start, "'C' or 'F'"),
        }
    }

    fn access(&mut self) -> Parsed<Access> {
        let start = self.start();
        match self.word() {
            "True" => Ok(Access::Writable),
            "False" => Ok(Access::ReadOnly),
            _ => self.fail_at(start, "True or False"),
        }
    }

    fn object(&mut self) -> Parsed<Object> {
        let start = self.start();
        let name = self.quoted()?;
        let known = Object::ALL.iter().copied().find(|object| object.name() == name);
        let names =
            || Object::ALL.iter().map(|object| object.name()).collect::<Vec<_>>().join(", ");
        known.map_or_else(|| self.fail_at(start, &format!("one of {}", names())), Ok)
    }

    fn device(&mut self) -> Parsed<DLDevice> {
        self.token("(")?;
        let device_type = DLDeviceType(self.number("a device type")?);
        self.token(",")?;
        let device_id = self.number("a device index")?;
        self.token(")")?;
        Ok(DLDevice { device_type, device_id })
    }

    fn call(&mut self) -> Parsed<Call> {
        let mut call = Call::default();
        let mut given: SmallVec<[Keyword; 4]> = SmallVec::new();
        self.token("(")?;
        if self.word_ahead() == "None" {
            self.word();
            call.extra = Extra::Positional;
            self.separator(")")?;
        }
        while !self.eat(")") {
            let start = self.start();
            if self.eat("**fresh") {
                call.keys = Keys::Fresh;
                self.separator(")")?;
                continue;
            }
            let name = self.word();
            let keyword = Keyword::ALL.into_iter().find(|keyword| keyword.name() == name);
            if name != "foo" && keyword.is_none() {
                return self
                    .fail_at(start, "stream, max_version, dl_device, copy, foo=1 or **fresh");
            }
            self.token("=")?;
            match keyword {
                Some(keyword) if given.contains(&keyword) => {
                    return self.fail_at(start, &format!("{name} only once"));
                }
                Some(keyword) => {
                    *call.arg_mut(keyword) = Arg::Given(self.value()?);
                    given.push(keyword);
                }
                None if call.extra != Extra::Nothing => {
                    return self.fail_at(start, "one of foo=1 and a positional None");
                }
                None => {
                    self.token("1")?;
                    call.extra = Extra::UnknownKeyword;
                }
            }
            self.separator(")")?;
        }
        let passes_in_order = |order: &u8| {
            let keywords = Call { order: *order, ..Call::default() }.keywords();
            let passed = keywords.into_iter().filter(|keyword| given.contains(keyword));
            passed.eq(given.iter().copied())
        };
        call.order = (0..24).find(passes_in_order).expect("the 24 orders are all there are");
        Ok(call)
    }

    fn value(&mut self) -> Parsed<Value> {
        if self.eat("(") {
            return Ok(Value::Seq(SeqKind::Tuple, self.items(")")?));
        }
        if self.eat("[") {
            return Ok(Value::Seq(SeqKind::List, self.items("]")?));
        }
        match self.word_ahead() {
            "own" => {
                self.word();
                Ok(Value::Own)
            }
            "Pair" => {
                self.word();
                self.token("(")?;
                self.token("(")?;
                let items = self.items(")")?;
                self.token(")")?;
                Ok(Value::Seq(SeqKind::TupleSubclass, items))
            }
            _ => self.scalar().map(Value::Scalar),
        }
    }

    /// The items up to the closing bracket.
    fn items(&mut self, close: &str) -> Parsed<SmallVec<[Scalar; 2]>> {
        let mut items = SmallVec::new();
        while !self.eat(close) {
            items.push(self.scalar()?);
            self.separator(close)?;
        }
        Ok(items)
    }

    fn scalar(&mut self) -> Parsed<Scalar> {
        let start = self.start();
        match self.rest().as_bytes().first() {
            Some(b'-' | b'0'..=b'9') => return self.numeric(),
            Some(b'\'') => {
                let text = self.quoted()?;
                let words = || Scalar::WORDS.map(|word| format!("'{word}'")).join(", ");
                return match Scalar::WORDS.iter().position(|&word| word == text) {
                    Some(place) => Ok(Scalar::Str(place as u8)),
                    None => self.fail_at(start, &format!("one of the words {}", words())),
                };
            }
            _ => {}
        }
        if self.eat("b'1'") {
            return Ok(Scalar::Bytes);
        }
        let wrap: fn(i64) -> Scalar = match self.word() {
            "None" => return Ok(Scalar::None),
            "True" => return Ok(Scalar::Bool(true)),
            "False" => return Ok(Scalar::Bool(false)),
            "object" => {
                self.token("(")?;
                self.token(")")?;
                return Ok(Scalar::Object);
            }
            "IntEnum" => Scalar::IntEnum,
            "Enum" => Scalar::Enum,
            "Int" => Scalar::IntSubclass,
            "np.int64" => Scalar::NumpyInt,
            "Index" => Scalar::Index,
            _ => {
                let expected = "a value: None, True, False, a number, 2**64, IntEnum(1), Enum(1), Int(1), \
                                np.int64(1), Index(1), 1.5, 'cpu', b'1', object(), a tuple, a list, \
                                Pair((1, 0)) or own";
                return self.fail_at(start, expected);
            }
        };
        self.token("(")?;
        let number = self.number("an integer of 64 bits")?;
        self.token(")")?;
        Ok(wrap(number))
    }

    /// An integer, `2**64` or a float.
    fn numeric(&mut self) -> Parsed<Scalar> {
        let start = self.start();
        for (negative, text) in [(false, HUGE), (true, "-2**64")] {
            if self.eat(text) {
                return Ok(Scalar::Huge { negative });
            }
        }
        let negative = self.rest().starts_with('-');
        let whole = self.number::<i64>("an integer of 64 bits, 2**64 or -2**64")?;
        let half = if self.eat_close(".0") {
            0
        } else if self.eat_close(".5") {
            1
        } else {
            return Ok(Scalar::Int(whole));
        };
        let halves = i128::from(whole) * 2 + if negative { -half } else { half };
        match i32::try_from(halves) {
            Ok(halves) => Ok(Scalar::Halves(halves)),
            Err(_) => self.fail_at(start, "a float of at most 2**30"),
        }
    }

    /// A tuple of integers.
    fn numbers(&mut self) -> Parsed<Shape> {
        let mut numbers = Shape::new();
        self.token("(")?;
        while !self.eat(")") {
            numbers.push(self.number("an integer of 64 bits")?);
            self.separator(")")?;
        }
        Ok(numbers)
    }

    fn probes(&mut self) -> Parsed<Probes> {
        let mut probes = Probes::NONE;
        loop {
            let start = self.start();
            let name = self.until([',', ' ']);
            match Probe::ALL.into_iter().find(|probe| probe.name() == name) {
                Some(probe) => probes.insert(probe),
                None if name == "all" => Probe::ALL.into_iter().for_each(|it| probes.insert(it)),
                None if let Some(step) = ExchangeStep::named(name) => probes.ask(step),
                None => {
                    let probes = Probe::ALL.into_iter().map(Probe::name);
                    let steps = ExchangeStep::ALL.into_iter().map(ExchangeStep::name);
                    let names = probes.chain(steps).collect::<Vec<_>>().join(", ");
                    return self.fail_at(start, &format!("all, or names among {names}"));
                }
            }
            if !self.eat(",") {
                return Ok(probes);
            }
        }
    }

    fn life(&mut self) -> Parsed<Life> {
        let mut steps = Vec::new();
        loop {
            let start = self.start();
            match Step::parse(self.until([','])) {
                Some(step) => steps.push(step),
                None => return self.fail_at(start, Step::EXPECTED),
            }
            if !self.eat(",") {
                break;
            }
        }
        let life = Life::normalized(steps.iter().copied());
        if life.steps() == steps {
            return Ok(life);
        }
        self.fail(&format!("steps that are no mistake of the consumer's; these are left: {life}"))
    }
}

#[cfg(test)]
mod tests;
