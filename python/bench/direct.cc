// SPDX-License-Identifier: Apache-2.0
// heft_direct: times the library's calls in C++, on the bytes and arrays that overhead.py gives to
// Python's classes. Only for that script.
#include <chrono>
#include <functional>

#include "python/values.h"

namespace heft::python {
namespace {

double Seconds(const std::function<void()>& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Direct: client and server of one key set.
class Direct {
 public:
  Direct(const py::bytes& model, const py::bytes& encryption, const py::bytes& evaluation,
         const py::bytes& enrolment)
      : model_(Take(Model::Parse(Span(model), "model"))),
        client_(Take(Client::Create(model_, Span(encryption)))),
        server_(Take(Server::Create(model_, Span(evaluation), "keys", Span(enrolment), "keys"))) {}

  double Encrypt(const std::string& modality, const py::object& array) const {
    const Matrix rows = MatrixOf(array, modality);
    return Seconds([&] { Take(client_.Encrypt(Samples{modality, rows.values})); });
  }
  double Enrol(const std::string& gallery, const py::object& samples) const {
    std::vector<SampleFile> files = SampleFilesOf(samples);
    return Seconds([&] { Take(server_.Enrol(gallery, std::move(files))); });
  }
  double Identify(const std::string& gallery, const py::object& samples) {
    std::vector<SampleFile> files = SampleFilesOf(samples);
    if (!gallery_) gallery_ = Take(Gallery::Open(gallery));
    return Seconds([&] {
      const Gallery newest = Take(gallery_->Newest());
      Take(server_.Identify(newest, std::move(files)));
    });
  }

 private:
  static std::span<const uint8_t> Span(const py::bytes& bytes) {
    const std::string_view view = bytes;
    return {reinterpret_cast<const uint8_t*>(view.data()), view.size()};
  }

  Model model_;
  Client client_;
  Server server_;
  std::optional<Gallery> gallery_;
};

PYBIND11_MODULE(heft_direct, m) {
  FindErrors();
  py::class_<Direct>(m, "Direct")
      .def(py::init<py::bytes, py::bytes, py::bytes, py::bytes>())
      .def("encrypt", &Direct::Encrypt)
      .def("enrol", &Direct::Enrol)
      .def("identify", &Direct::Identify);
}

}  // namespace
}  // namespace heft::python
