// SPDX-License-Identifier: Apache-2.0
// Galleries in buckets: the shard list, the buckets, and the bucket of an identity.
#include "heft/sharded_gallery.h"
#include "python/values.h"

namespace heft::python {
namespace {

using Class = py::class_<ShardList>;

std::vector<GalleryId> IdsOf(const py::object& ids) {
  std::vector<GalleryId> out;
  for (const std::string& text : LabelsOf(ids)) out.push_back(Take(ParseGalleryId(text)));
  return out;
}

ShardList Create(const MatcherHandle& matcher, const py::object& gallery, uint32_t buckets,
                 uint64_t seconds, uint64_t bytes) {
  const auto server = matcher.Get();
  const std::string name = PathOf(gallery);
  return Call([&] { return CreateShards(*server, name, buckets, {seconds, bytes}); });
}

GalleryHandle OpenOne(const ShardList& self, const py::object& gallery, uint32_t bucket) {
  const std::string name = PathOf(gallery);
  Call([&] { return OpenBucket(name, self, bucket).status(); });
  return GalleryHandle(BucketAddress(name, bucket));
}

void DefineMaking(Class& c) {
  Init(
      c,
      [](const std::string& gallery, const py::object& buckets) {
        return Take(ShardList::Make(gallery, IdsOf(buckets)));
      },
      "Of the ids of galleries (Gallery.id), in the order of the buckets. InvalidArgument.",
      py::arg("gallery"), py::arg("buckets"));
  StaticMethod(
      c, "create", &Create,
      "Makes so many empty galleries in one store, \"store:people.000\" and so on of\n"
      "\"store:people\", and their list. Of one that was begun and not finished, buckets that are\n"
      "there and empty are taken. AlreadyExists, Unavailable.",
      py::arg("matcher"), py::arg("gallery"), py::arg("buckets"), py::kw_only(),
      py::arg("retained_seconds") = Retained{}.seconds,
      py::arg("retained_bytes") = Retained{}.bytes);
  StaticMethod(
      c, "load",
      [](const py::object& path) {
        const std::string file = PathOf(path);
        return Call([&] { return ShardList::Load(file); });
      },
      "A file. DataLoss, NotFound, Unavailable.", py::arg("path"));
  StaticMethod(
      c, "parse", [](const std::string& text) { return Take(ShardList::Parse(text, "shards")); },
      "A file's text, which str() gives. DataLoss.", py::arg("text"));
  Method(
      c, "save",
      [](const ShardList& self, const py::object& path) {
        const std::string file = PathOf(path);
        Call([&] { return self.Save(file); });
      },
      "Replaces the file. Unavailable.", py::arg("path"));
  c.def("__str__", &ShardList::Serialize);
}

void DefineAsking(Class& c) {
  c.def_property_readonly("gallery", &ShardList::gallery, "Its name.");
  c.def_property_readonly(
      "id", [](const ShardList& self) { return HexOf(self.Id()); },
      "Of the gallery as a whole, by which decisions name it; 32 hexadecimal digits.");
  c.def_property_readonly(
      "buckets",
      [](const ShardList& self) {
        std::vector<std::string> ids;
        for (const GalleryId& id : self.buckets()) ids.push_back(HexOf(id));
        return ids;
      },
      "Their galleries' ids, in order.");
  c.def("__len__", &ShardList::size);
  c.def("__eq__", [](const ShardList& self, const py::object& other) {
    return py::isinstance<ShardList>(other) && self == other.cast<const ShardList&>();
  });
  c.attr("__hash__") = py::none();
  c.def("__repr__", [](const ShardList& self) {
    return "<heft.ShardList " + self.gallery() + ", " + std::to_string(self.size()) + " buckets>";
  });
  Method(
      c, "bucket_of",
      [](const ShardList& self, const std::string& identity) { return self.BucketOf(identity); },
      "Where an identity belongs.", py::arg("identity"));
  Method(
      c, "find",
      [](const ShardList& self, const std::string& gallery) {
        return self.Find(Take(ParseGalleryId(gallery)));
      },
      "Which bucket the gallery of that id is, or None.", py::arg("gallery"));
  Method(c, "open_bucket", &OpenOne,
         "One bucket of it. FailedPrecondition where the gallery of that name is not the one that\n"
         "the list says; NotFound.",
         py::arg("gallery"), py::arg("bucket"));
  Method(
      c, "open",
      [](const ShardList& self, const py::object& gallery) {
        std::vector<GalleryHandle> all;
        for (uint32_t i = 0; i < self.size(); ++i) all.push_back(OpenOne(self, gallery, i));
        return all;
      },
      "All buckets, in order.", py::arg("gallery"));
}

}  // namespace

void DefineSharding(py::module_& m) {
  Class c(m, "ShardList",
          "Which galleries are the buckets of one that is divided, and so where who is enrolled\n"
          "(docs/scale.md). The key owner has it over a way of his own, as the trust file.");
  DefineMaking(c);
  DefineAsking(c);
  Function(m, "bucket_of", &BucketOf, "The bucket of an identity, of so many.", py::arg("identity"),
           py::arg("buckets"));
  Function(m, "bucket_address", &BucketAddress,
           "\"people.007\" of \"people\": a bucket's name; of FOLDER:NAME too.", py::arg("gallery"),
           py::arg("bucket"));
}

}  // namespace heft::python
