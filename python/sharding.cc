// SPDX-License-Identifier: Apache-2.0
// Galleries in buckets: the shard list, the buckets, and the bucket of an identity.
#include "heft/desk.h"
#include "heft/shards.h"
#include "python/values.h"

namespace heft::python {
namespace {

using ShardsClass = py::class_<ShardList>;

std::vector<GalleryId> IdsOf(const py::object& ids) {
  std::vector<GalleryId> out;
  for (const std::string& text : LabelsOf(ids)) out.push_back(Take(ParseGalleryId(text)));
  return out;
}

ShardList CreateShards(const MatcherHandle& matcher, const py::object& gallery, uint32_t buckets,
                       uint64_t seconds, uint64_t bytes) {
  const auto server = matcher.Get();
  const std::string name = PathOf(gallery);
  const Desk desk(*server, nullptr, matcher.key_owner());
  return Call([&] { return desk.CreateInBuckets(name, buckets, {seconds, bytes}); });
}

GalleryHandle OpenOne(const ShardList& self, const py::object& gallery, uint32_t bucket) {
  const std::string name = PathOf(gallery);
  Call([&] { return OpenBucket(name, self, bucket).status(); });
  return GalleryHandle(BucketAddress(name, bucket));
}

void DefineShardsMaking(ShardsClass& c) {
  Init(
      c,
      [](const std::string& gallery, const py::object& buckets) {
        return Take(ShardList::Make(gallery, IdsOf(buckets)));
      },
      "A list from the ids of galleries (Gallery.id), ordered by bucket. InvalidArgument.",
      py::arg("gallery"), py::arg("buckets"));
  StaticMethod(
      c, "create", &CreateShards,
      "Makes empty galleries in one store, one per bucket, \"store:people.000\" and so on for\n"
      "\"store:people\", and returns their list. After an interrupted call, the existing empty\n"
      "buckets are used. AlreadyExists, Unavailable.",
      py::arg("matcher"), py::arg("gallery"), py::arg("buckets"), py::kw_only(),
      py::arg("retention_seconds") = Retained{}.seconds,
      py::arg("retention_bytes") = Retained{}.bytes);
  StaticMethod(
      c, "load",
      [](const py::object& path) {
        const std::string file = PathOf(path);
        return Call([&] { return ShardList::Load(file); });
      },
      "Loads a file. DataLoss, NotFound, Unavailable.", py::arg("path"));
  StaticMethod(
      c, "parse", [](const std::string& text) { return Take(ShardList::Parse(text, "shards")); },
      "Reads a file's text, which str() gives. DataLoss.", py::arg("text"));
  Method(
      c, "save",
      [](const ShardList& self, const py::object& path) {
        const std::string file = PathOf(path);
        Call([&] { return self.Save(file); });
      },
      "Writes or replaces the file. Unavailable.", py::arg("path"));
  c.def("__str__", &ShardList::Serialize);
}

void DefineAsking(ShardsClass& c) {
  c.def_property_readonly("gallery", &ShardList::gallery, "Name of the gallery.");
  c.def_property_readonly(
      "gallery_id", [](const ShardList& self) { return HexOf(self.Id()); },
      "Id of the gallery as a whole, which decisions contain; 32 hexadecimal digits.");
  c.def_property_readonly(
      "buckets",
      [](const ShardList& self) {
        std::vector<std::string> ids;
        for (const GalleryId& id : self.buckets()) ids.push_back(HexOf(id));
        return ids;
      },
      "Ids of the buckets' galleries, ordered by bucket.");
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
      "The bucket of an identity.", py::arg("identity"));
  Method(
      c, "find",
      [](const ShardList& self, const std::string& gallery) {
        return self.Find(Take(ParseGalleryId(gallery)));
      },
      "The bucket with that gallery id, or None.", py::arg("gallery"));
  Method(c, "open_bucket", &OpenOne,
         "Opens one bucket. FailedPrecondition if the gallery of that name has another id than in\n"
         "the list; NotFound.",
         py::arg("gallery"), py::arg("bucket"));
  Method(
      c, "open",
      [](const ShardList& self, const py::object& gallery) {
        std::vector<GalleryHandle> all;
        for (uint32_t i = 0; i < self.size(); ++i) all.push_back(OpenOne(self, gallery, i));
        return all;
      },
      "Opens all buckets, in order.", py::arg("gallery"));
}

}  // namespace

void DefineSharding(py::module_& m) {
  ShardsClass c(
      m, "ShardList",
      "The buckets of a divided gallery, which also determine the bucket of each identity\n"
      "(docs/scale.md). Give the key owner this file by a separate, trusted way, as the trust\n"
      "file.");
  DefineShardsMaking(c);
  DefineAsking(c);
  Function(m, "bucket_of", &BucketOf, "The bucket of an identity, among so many.",
           py::arg("identity"), py::arg("buckets"));
  Function(m, "bucket_address", &BucketAddress,
           "The name of a bucket: \"people.007\" for \"people\". Also for FOLDER:NAME.",
           py::arg("gallery"), py::arg("bucket"));
}

}  // namespace heft::python
