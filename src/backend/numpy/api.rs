//! The part of NumPy's C API that building arrays needs: a table of functions behind a capsule, whose
//! slots are stable since NumPy 1.7 (`numpy/__multiarray_api.h`), and the public head of `PyArrayObject`.

use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicIsize, Ordering::Relaxed};

/// Blocks that NumPy's data allocator has given out and not taken back.
static LIVE_BLOCKS: AtomicIsize = AtomicIsize::new(0);

/// Slots of the function table.
const ARRAY_TYPE: usize = 2;
const NEW_FROM_DESCR: usize = 94;
const SET_BASE_OBJECT: usize = 282;
/// NumPy 1.22 and later (NEP 49).
const SET_HANDLER: usize = 304;

const C_CONTIGUOUS: c_int = 0x0001;
const F_CONTIGUOUS: c_int = 0x0002;
const WRITEABLE: c_int = 0x0400;

type NewFromDescr = unsafe extern "C" fn(
    *mut ffi::PyTypeObject,
    *mut ffi::PyObject,
    c_int,
    *const isize,
    *const isize,
    *mut c_void,
    c_int,
    *mut ffi::PyObject,
) -> *mut ffi::PyObject;
type SetBaseObject = unsafe extern "C" fn(*mut ffi::PyObject, *mut ffi::PyObject) -> c_int;
type SetHandler = unsafe extern "C" fn(*mut ffi::PyObject) -> *mut ffi::PyObject;

/// NumPy's function table.
pub struct Api {
    table: *const *const c_void,
    major_version: u32,
    /// Offset of `elsize` in `PyArray_Descr`: it moved in NumPy 2.
    item_size_offset: usize,
}

/// `PyArrayObject`, as far as NumPy's headers have kept it since 1.7.
#[repr(C)]
pub struct ArrayObject {
    head: ffi::PyObject,
    pub data: *mut u8,
    axes: c_int,
    shape: *mut i64,
    strides: *mut i64,
    base: *mut ffi::PyObject,
    descr: *mut ffi::PyObject,
    flags: c_int,
}

impl ArrayObject {
    pub fn shape(&self) -> &[i64] {
        self.list(self.shape)
    }

    /// In bytes.
    pub fn strides(&self) -> &[i64] {
        self.list(self.strides)
    }

    fn list(&self, pointer: *const i64) -> &[i64] {
        if self.axes == 0 || pointer.is_null() {
            return &[];
        }
        // SAFETY: NumPy keeps `axes` entries behind both pointers.
        unsafe { std::slice::from_raw_parts(pointer, self.axes as usize) }
    }

    pub fn is_writable(&self) -> bool {
        self.flags & WRITEABLE != 0
    }

    pub fn clear_writable(&mut self) {
        self.flags &= !WRITEABLE;
    }

    /// Bytes of a contiguous array of this shape.
    pub fn bytes(&self, item_size: usize) -> usize {
        self.shape().iter().map(|&extent| extent as usize).product::<usize>() * item_size
    }

    /// The memory of a contiguous array that owns it.
    ///
    /// # Safety
    /// The array owns its data, and nothing else refers to it.
    #[expect(clippy::mut_from_ref, reason = "the array's memory is not inside the struct")]
    pub unsafe fn memory_mut(&self) -> &mut [u8] {
        debug_assert!(self.flags & (C_CONTIGUOUS | F_CONTIGUOUS) != 0);
        // SAFETY: PyArray_Descr is alive as long as the array; the block has this many bytes.
        unsafe {
            let item_size = item_size_at(self.descr, item_size_offset(MAJOR.load(Relaxed)));
            std::slice::from_raw_parts_mut(self.data, self.bytes(item_size))
        }
    }
}

/// Major version of the loaded NumPy: there is one per process.
static MAJOR: AtomicIsize = AtomicIsize::new(2);

fn item_size_offset(major: isize) -> usize {
    // PyArray_Descr of 1.x: head 16, typeobj 8, kind type byteorder flags 4, type_num 4, elsize at 32.
    // PyArray_Descr of 2.x: ..., byteorder, former flags, type_num, flags u64 at 32, elsize at 40.
    if major < 2 { 32 } else { 40 }
}

/// # Safety
/// `descr` is a live `PyArray_Descr` of the NumPy whose offset is given.
unsafe fn item_size_at(descr: *mut ffi::PyObject, offset: usize) -> usize {
    // SAFETY: the field lies at that offset: an int in 1.x, a npy_intp in 2.x, both small.
    unsafe { *(descr.cast::<u8>().add(offset).cast::<i32>()) as usize }
}

impl Api {
    pub fn load(py: Python<'_>) -> PyResult<Self> {
        let numpy = py.import("numpy")?;
        let version: String = numpy.getattr("__version__")?.extract()?;
        let major_version =
            version.split('.').next().and_then(|major| major.parse().ok()).unwrap_or(2);
        let module =
            if major_version < 2 { "numpy.core.multiarray" } else { "numpy._core.multiarray" };
        let capsule = py.import(module)?.getattr("_ARRAY_API")?;
        // SAFETY: NumPy's capsule has no name and holds a table that lives as long as the process.
        let table = unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), std::ptr::null()) };
        if table.is_null() {
            return Err(PyErr::fetch(py));
        }
        MAJOR.store(major_version as isize, Relaxed);
        let api = Self {
            table: table.cast(),
            major_version,
            item_size_offset: item_size_offset(major_version as isize),
        };
        let double = numpy.getattr("dtype")?.call1(("f8",))?;
        // SAFETY: a dtype object is a PyArray_Descr.
        if unsafe { item_size_at(double.as_ptr(), api.item_size_offset) } != 8 {
            let text = format!("NumPy {version} has an unknown layout of PyArray_Descr");
            return Err(pyo3::exceptions::PyRuntimeError::new_err(text));
        }
        Ok(api)
    }

    pub fn major_version(&self) -> u32 {
        self.major_version
    }

    /// NPY_MAXDIMS.
    pub fn most_axes(&self) -> usize {
        if self.major_version < 2 { 32 } else { 64 }
    }

    pub fn array_type(&self) -> *mut ffi::PyTypeObject {
        self.slot(ARRAY_TYPE).cast_mut().cast()
    }

    fn slot(&self, place: usize) -> *const c_void {
        // SAFETY: all slots named here exist in every NumPy that `load` accepts.
        unsafe { *self.table.add(place) }
    }

    /// A new array that owns its (uninitialised) memory.
    pub fn new_owning<'py>(
        &self,
        py: Python<'py>,
        class: *mut ffi::PyTypeObject,
        dtype: &Bound<'py, PyAny>,
        shape: &[i64],
        fortran: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let flags = if fortran { F_CONTIGUOUS } else { 0 };
        self.new_array(py, class, dtype, shape, None, std::ptr::null_mut(), flags)
    }

    /// A writable view into `base`, whose first element lies `first` bytes into it.
    #[expect(clippy::too_many_arguments, reason = "the C function's own")]
    pub fn new_view<'py>(
        &self,
        py: Python<'py>,
        class: *mut ffi::PyTypeObject,
        dtype: &Bound<'py, PyAny>,
        shape: &[i64],
        strides: &[i64],
        base: &Bound<'py, PyAny>,
        first: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: `base` is an array; the caller has laid out the view inside it.
        let data = unsafe { self.array(base) }.data.wrapping_add(first);
        let view = self.new_array(py, class, dtype, shape, Some(strides), data, WRITEABLE)?;
        // SAFETY: SetBaseObject steals a reference to the base, which is given here.
        let status = unsafe {
            let set: SetBaseObject = std::mem::transmute(self.slot(SET_BASE_OBJECT));
            set(view.as_ptr(), base.clone().into_ptr())
        };
        if status < 0 { Err(PyErr::fetch(py)) } else { Ok(view) }
    }

    #[expect(clippy::too_many_arguments, reason = "the C function's own")]
    fn new_array<'py>(
        &self,
        py: Python<'py>,
        class: *mut ffi::PyTypeObject,
        dtype: &Bound<'py, PyAny>,
        shape: &[i64],
        strides: Option<&[i64]>,
        data: *mut u8,
        flags: c_int,
    ) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: the slot has this signature; the dtype's reference is stolen, so one is made for it.
        unsafe {
            let new: NewFromDescr = std::mem::transmute(self.slot(NEW_FROM_DESCR));
            let array = new(
                class,
                dtype.clone().into_ptr(),
                shape.len() as c_int,
                shape.as_ptr().cast(),
                strides.map_or(std::ptr::null(), |strides| strides.as_ptr().cast()),
                data.cast(),
                flags,
                std::ptr::null_mut(),
            );
            Bound::from_owned_ptr_or_err(py, array)
        }
    }

    /// # Safety
    /// `array` is an instance of `numpy.ndarray` or of a sub-class.
    pub unsafe fn array<'a>(&self, array: &'a Bound<'_, PyAny>) -> &'a ArrayObject {
        // SAFETY: every ndarray starts with these fields.
        unsafe { &*array.as_ptr().cast() }
    }

    /// # Safety
    /// As [`Api::array`], and nobody else looks at the array meanwhile.
    #[expect(clippy::mut_from_ref, reason = "a Bound is a shared reference to a Python object")]
    pub unsafe fn array_mut<'a>(&self, array: &'a Bound<'_, PyAny>) -> &'a mut ArrayObject {
        // SAFETY: as above.
        unsafe { &mut *array.as_ptr().cast() }
    }

    pub fn item_size(&self, array: &Bound<'_, PyAny>) -> usize {
        // SAFETY: only called with arrays.
        self.item_size_of(unsafe { self.array(array) })
    }

    pub fn item_size_of(&self, array: &ArrayObject) -> usize {
        // SAFETY: the array's descr is alive.
        unsafe { item_size_at(array.descr, self.item_size_offset) }
    }

    /// The array whose memory a view shows: the end of its chain of bases, as long as these are arrays.
    pub fn owner_of<'py>(&self, array: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
        let mut owner: Option<Bound<'py, PyAny>> = None;
        let mut current = array.clone();
        loop {
            // SAFETY: `current` is an array; its base is NULL or a live object.
            let base =
                unsafe { Bound::from_borrowed_ptr_or_opt(array.py(), self.array(&current).base) };
            match base {
                Some(base) if self.is_array(&base) => {
                    owner = Some(base.clone());
                    current = base;
                }
                _ => return owner,
            }
        }
    }

    fn is_array(&self, object: &Bound<'_, PyAny>) -> bool {
        // SAFETY: two live types.
        unsafe { ffi::PyObject_TypeCheck(object.as_ptr(), self.array_type()) != 0 }
    }

    /// Puts the counting allocator in place for the current thread's context.
    pub fn install_allocator(&self, py: Python<'_>) -> PyResult<()> {
        // SAFETY: the handler is static; NumPy takes it as a capsule of this name and keeps a reference.
        unsafe {
            let capsule = ffi::PyCapsule_New(
                (&raw const HANDLER).cast_mut().cast(),
                c"mem_handler".as_ptr(),
                None,
            );
            let capsule = Bound::from_owned_ptr_or_err(py, capsule)?;
            let set: SetHandler = std::mem::transmute(self.slot(SET_HANDLER));
            Bound::from_owned_ptr_or_err(py, set(capsule.as_ptr()))?;
        }
        Ok(())
    }
}

/// Live blocks of the allocator.
pub fn live_blocks() -> isize {
    LIVE_BLOCKS.load(Relaxed)
}

/// `PyDataMem_Handler` of NEP 49, version 1.
#[repr(C)]
struct Handler {
    name: [c_char; 127],
    version: u8,
    context: *mut c_void,
    malloc: unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void,
    calloc: unsafe extern "C" fn(*mut c_void, usize, usize) -> *mut c_void,
    realloc: unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> *mut c_void,
    free: unsafe extern "C" fn(*mut c_void, *mut c_void, usize),
}

// SAFETY: nothing in it is ever written.
unsafe impl Sync for Handler {}

static HANDLER: Handler = Handler {
    name: {
        let mut name = [0; 127];
        let text = b"dlpack-fuzz";
        let mut place = 0;
        while place < text.len() {
            name[place] = text[place] as c_char;
            place += 1;
        }
        name
    },
    version: 1,
    context: std::ptr::null_mut(),
    malloc: counted_malloc,
    calloc: counted_calloc,
    realloc: counted_realloc,
    free: counted_free,
};

/// Larger blocks are refused, which NumPy makes a MemoryError of. A copy of a huge virtual array asks for
/// petabytes: AddressSanitizer would print a page about each, libFuzzer take 2 GiB for a fault of its own, and
/// the system lend memory that is not there. A copy that is really made is far smaller.
const MOST_BYTES: usize = 1 << 30;

unsafe extern "C" fn counted_malloc(_: *mut c_void, size: usize) -> *mut c_void {
    if size > MOST_BYTES {
        return std::ptr::null_mut();
    }
    // SAFETY: plain malloc; one byte at least, so that NULL means failure.
    counted(unsafe { libc::malloc(size.max(1)) })
}

unsafe extern "C" fn counted_calloc(_: *mut c_void, count: usize, size: usize) -> *mut c_void {
    if count.checked_mul(size).is_none_or(|bytes| bytes > MOST_BYTES) {
        return std::ptr::null_mut();
    }
    // SAFETY: plain calloc.
    counted(unsafe { libc::calloc(count.max(1), size.max(1)) })
}

unsafe extern "C" fn counted_realloc(
    _: *mut c_void,
    block: *mut c_void,
    size: usize,
) -> *mut c_void {
    if size > MOST_BYTES {
        return std::ptr::null_mut();
    }
    // SAFETY: NumPy passes a block of this allocator or NULL.
    let moved = unsafe { libc::realloc(block, size.max(1)) };
    if block.is_null() { counted(moved) } else { moved }
}

unsafe extern "C" fn counted_free(_: *mut c_void, block: *mut c_void, _: usize) {
    if !block.is_null() {
        LIVE_BLOCKS.fetch_sub(1, Relaxed);
    }
    // SAFETY: NumPy passes a block of this allocator or NULL.
    unsafe { libc::free(block) }
}

fn counted(block: *mut c_void) -> *mut c_void {
    if !block.is_null() {
        LIVE_BLOCKS.fetch_add(1, Relaxed);
    }
    block
}
