// An exporter by nanobind's own ndarray: whatever pointer, shape, strides, element type and device one gives.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>
#include <vector>

namespace nb = nanobind;

template <typename... Annotations>
static nb::object make(size_t address, const std::vector<size_t> &shape, const std::vector<int64_t> &strides,
                       int code, int bits, int lanes, int device_type, int device_id, nb::handle owner) {
  nb::dlpack::dtype dtype{(uint8_t)code, (uint8_t)bits, (uint16_t)lanes};
  nb::ndarray<nb::array_api, Annotations...> array((void *)address, shape.size(), shape.data(), owner, strides.data(), dtype,
                                    device_type, device_id);
  return nb::cast(array, nb::rv_policy::reference);
}

NB_MODULE(dlpack_fuzz_nanobind, m) {
  m.def("make", &make<>);
  m.def("make_const", &make<nb::ro>);
}
