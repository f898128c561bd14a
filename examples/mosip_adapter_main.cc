// SPDX-License-Identifier: Apache-2.0
// mosip_adapter: MOSIP's ABIS messages on standard input, one a line, their answers on standard
// output.
//
//   mosip_adapter https://MATCHER:PORT GALLERY https://SHARE:PORT CERTIFICATE KEY AUTHORITIES
//
// The certificate is of a machine with the roles registrar and client; referenceURLs begin with the
// share's address, and others are not fetched.
#include <iostream>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "examples/mosip_adapter.h"
#include "service/http/client.h"
#include "service/http/tls.h"

namespace heft::examples {
namespace {

absl::StatusOr<std::string> FetchFrom(service::HttpClient* share, const std::string& origin,
                                      const std::string& url) {
  if (!absl::StartsWith(url, origin + "/")) return absl::NotFoundError("not of the share");
  service::ClientRequest request;
  request.target = url.substr(origin.size());
  request.most_bytes = 64 << 20;
  request.sign = false;
  const auto response = share->Send(request);
  if (!response.ok()) return response.status();
  if (response->status == 401 || response->status == 403 || response->status == 410) {
    return absl::PermissionDeniedError("the share has expired");
  }
  if (response->status >= 300) return absl::NotFoundError("nothing is shared there");
  return std::string(response->body.begin(), response->body.end());
}

absl::Status Run(char** argv) {
  const std::string origin = argv[3];
  const service::TlsFiles files = {argv[4], argv[5], argv[6]};
  const auto tls = service::TlsContext::ForClient(files);
  if (!tls.ok()) return tls.status();
  const auto matcher = service::HttpClient::Create(argv[1], *tls);
  if (!matcher.ok()) return matcher.status();
  const auto share = service::HttpClient::Create(origin, *tls);
  if (!share.ok()) return share.status();
  MosipAdapter adapter(matcher->get(), argv[2], [&](const std::string& url) {
    return FetchFrom(share->get(), origin, url);
  });
  for (std::string line; std::getline(std::cin, line);) {
    if (!line.empty()) std::cout << adapter.Answer(line).dump() << std::endl;
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace heft::examples

int main(int argc, char** argv) {
  if (argc != 7) {
    std::cerr << "mosip_adapter https://MATCHER:PORT GALLERY https://SHARE:PORT CERTIFICATE KEY "
                 "AUTHORITIES\n";
    return 2;
  }
  const absl::Status status = heft::examples::Run(argv);
  if (!status.ok()) std::cerr << "mosip_adapter: " << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
