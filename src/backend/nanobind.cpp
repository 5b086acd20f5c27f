// An exporter by nanobind's own ndarray: whatever pointer, shape, strides, element type and device one gives.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>
#include <vector>

namespace nb = nanobind;

// The exporter is nanobind's own object. Before 2.10 it has no name of its own and comes inside a memoryview.
#if NB_VERSION_MAJOR > 2 || NB_VERSION_MINOR >= 10
using Framework = nb::array_api;
static nb::object exporter(nb::object array) { return array; }
#else
using Framework = nb::memview;
static nb::object exporter(nb::object array) { return array.attr("obj"); }
#endif

template <typename... Annotations>
static nb::object make(size_t address, const std::vector<size_t> &shape, const std::vector<int64_t> &strides,
                       int code, int bits, int lanes, int device_type, int device_id, nb::handle owner) {
  nb::dlpack::dtype dtype{(uint8_t)code, (uint8_t)bits, (uint16_t)lanes};
  nb::ndarray<Framework, Annotations...> array((void *)address, shape.size(), shape.data(), owner, strides.data(), dtype,
                                    device_type, device_id);
  return exporter(nb::cast(array, nb::rv_policy::reference));
}

NB_MODULE(dlpack_fuzz_nanobind, m) {
  m.def("make", &make<>);
  m.def("make_const", &make<nb::ro>);
}
