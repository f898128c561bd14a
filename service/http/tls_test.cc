// SPDX-License-Identifier: Apache-2.0
// Certificates and keys: which are accepted, reloaded, revoked; keys in a token (SoftHSM).
#include "service/http/tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <sys/stat.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <thread>

#include "base/files.h"
#include "base/testing.h"
#include "service/access/jwt.h"
#include "service/http/client.h"
#include "service/http/private_key.h"
#include "service/http/server.h"
#include "service/http/testing.h"
#include "service/json.h"
#include "service/testing.h"
#include "service/text.h"

namespace heft::service {
namespace {

using ::testing::HasSubstr;
using testing::RawClient;
using testing::ThrowAwayCa;

class TlsTest : public ::testing::Test {
 protected:
  // Serve: a server with this certificate that returns the caller's name.
  absl::Status Serve(const TlsFiles& files) {
    auto tls = TlsContext::ForServer(files);
    if (!tls.ok()) return tls.status();
    tls_ = *tls;
    Router router;
    router.Add({"GET", "/", "who", Scope::kPublic, [](const HttpRequest& request) {
                  return JsonResponse({{"who", request.who.name}});
                }});
    const Gate gate = [](const GateInput& input, Principal* who) -> std::optional<GateError> {
      if (input.certificate != nullptr) who->name = input.certificate->subject;
      return std::nullopt;
    };
    auto server = HttpServer::Listen("0.0.0.0:0", -1, tls_, {}, std::move(router), gate, {});
    if (!server.ok()) return server.status();
    server_ = *std::move(server);
    server_->Start();
    return absl::OkStatus();
  }
  std::unique_ptr<HttpClient> ClientOf(const TlsFiles& files,
                                       const std::string& host = "localhost") {
    auto tls = TlsContext::ForClient(files);
    EXPECT_TRUE(tls.ok()) << tls.status();
    return *HttpClient::Create("https://" + host + ":" + std::to_string(server_->port()), *tls);
  }
  static std::string Ask(HttpClient* client) {
    const auto response = client->Send({});
    if (!response.ok()) return Message(response.status());
    return std::string(response->body.begin(), response->body.end());
  }

  heft::testing::TemporaryFolder folder_;
  ThrowAwayCa ca_{folder_.path()};
  std::shared_ptr<TlsContext> tls_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(TlsTest, FilesThatAreWrongAreNamed) {
  const TlsFiles good = ca_.Issue("server");
  const auto why = [](const TlsFiles& files) {
    const auto made = TlsContext::ForServer(files);
    return made.ok() ? "taken" : Message(made.status());
  };
  EXPECT_EQ(why(good), "taken");
  TlsFiles files = good;
  files.certificate = folder_ / "nowhere.pem";
  EXPECT_THAT(why(files), HasSubstr("nowhere.pem"));
  files = good;
  files.certificate = good.private_key;
  EXPECT_THAT(why(files), HasSubstr("no certificate"));
  files = good;
  files.private_key = ca_.Issue("other").private_key;
  EXPECT_THAT(why(files), HasSubstr("is not the key of the certificate"));
  files.private_key = good.certificate;
  chmod(files.private_key.c_str(), 0600);
  EXPECT_THAT(why(files), HasSubstr("no private key"));
  files = good;
  files.authorities = good.private_key;
  EXPECT_THAT(why(files), HasSubstr("no certificate"));
  files = good;
  files.revoked = good.certificate;
  EXPECT_THAT(why(files), HasSubstr("no list of revoked"));
  EXPECT_THAT(why(ca_.Issue("late", {-7200, -10})), HasSubstr("expired"));
  chmod(good.private_key.c_str(), 0644);
  EXPECT_EQ(TlsContext::ForServer(good).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(TlsTest, NobodyWithoutACertificateAndNothingButTls13) {
  ASSERT_TRUE(Serve(ca_.Issue("server")).ok());
  const TlsFiles files = ca_.Issue("client");
  EXPECT_EQ(Ask(ClientOf(files).get()), R"({"who":"client"})");
  EXPECT_EQ(Ask(ClientOf(files, "127.0.0.1").get()), R"({"who":"client"})");
  // A client without a certificate, one that offers TLS 1.2, and one that speaks no TLS.
  const auto shake = [&](SSL_CTX* context) {
    RawClient socket(server_->port());
    const int flags = fcntl(socket.fd(), F_GETFL);
    fcntl(socket.fd(), F_SETFL, flags & ~O_NONBLOCK);
    SSL* ssl = SSL_new(context);
    SSL_set_fd(ssl, socket.fd());
    char answer[1];
    bool good = SSL_connect(ssl) == 1;
    const char request[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    good = good && SSL_write(ssl, request, sizeof request - 1) > 0 && SSL_read(ssl, answer, 1) > 0;
    SSL_free(ssl);
    return good;
  };
  SSL_CTX* anonymous = SSL_CTX_new(TLS_client_method());
  EXPECT_FALSE(shake(anonymous));
  const auto ours = TlsContext::ForClient(files);
  ASSERT_TRUE(ours.ok());
  SSL_CTX* context = (*ours)->Current().get();
  EXPECT_TRUE(shake(context));
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
  EXPECT_FALSE(shake(context));
  SSL_CTX_free(anonymous);
  RawClient plain(server_->port());
  plain.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(plain.Receive("HTTP/1.1").find("HTTP/1.1"), std::string::npos);
  EXPECT_TRUE(plain.ended());
}

TEST_F(TlsTest, TheServerMustBeWhoItShouldBe) {
  ASSERT_TRUE(Serve(ca_.Issue("server")).ok());
  const heft::testing::TemporaryFolder elsewhere;
  TlsFiles files = ca_.Issue("client");
  files.authorities = ThrowAwayCa(elsewhere.path()).authorities();
  EXPECT_THAT(Ask(ClientOf(files).get()), HasSubstr("certificate problem"));
  // The certificate names localhost and 127.0.0.1, but not this address.
  EXPECT_THAT(Ask(ClientOf(ca_.Issue("client"), "127.0.0.2").get()),
              HasSubstr("no alternative certificate subject name matches"));
}

TEST_F(TlsTest, ANewCertificateEndsNoConnection) {
  TlsFiles files = ca_.Issue("server");
  ASSERT_TRUE(Serve(files).ok());
  const uint64_t before = tls_->expires();
  const auto client = ClientOf(ca_.Issue("client"));
  EXPECT_EQ(Ask(client.get()), R"({"who":"client"})");
  ca_.Issue("server", {-10, 100 * 3600});  // the same file names
  ASSERT_TRUE(tls_->Reload().ok());
  EXPECT_GT(tls_->expires(), before);
  EXPECT_EQ(server_->load().connections, 1u);
  EXPECT_EQ(Ask(client.get()), R"({"who":"client"})");
  EXPECT_EQ(server_->load().connections, 1u);
  EXPECT_EQ(Ask(ClientOf(ca_.Issue("other")).get()), R"({"who":"other"})");
  // Other files replace these permanently.
  const TlsFiles others = ca_.Issue("server-2", {-10, 200 * 3600});
  const auto install = tls_->Prepare(others);
  ASSERT_TRUE(install.ok()) << install.status();
  EXPECT_EQ(tls_->files().certificate, files.certificate) << "not yet";
  (*install)();
  EXPECT_EQ(tls_->files().certificate, others.certificate);
  files = others;
  ASSERT_TRUE(tls_->Reload().ok());
  EXPECT_EQ(Ask(ClientOf(ca_.Issue("other")).get()), R"({"who":"other"})");
  // Invalid files change nothing.
  ASSERT_TRUE(WriteFileAtomic(files.certificate, std::string_view("nothing")).ok());
  EXPECT_FALSE(tls_->Reload().ok());
  EXPECT_EQ(Ask(ClientOf(ca_.Issue("other")).get()), R"({"who":"other"})");
}

TEST_F(TlsTest, RevokedCertificatesAreRefusedFromTheNextRequestOn) {
  const TlsFiles lost = ca_.Issue("lost"), kept = ca_.Issue("kept");
  TlsFiles files = ca_.Issue("server");
  files.revoked = ca_.Revoke({});
  ASSERT_TRUE(Serve(files).ok());
  const auto open = ClientOf(lost), open_too = ClientOf(kept);
  EXPECT_EQ(Ask(open.get()), R"({"who":"lost"})");
  EXPECT_EQ(Ask(open_too.get()), R"({"who":"kept"})");
  ca_.Revoke({lost.certificate});
  ASSERT_TRUE(tls_->Reload().ok());
  // Open connections are refused, too.
  EXPECT_THAT(Ask(open.get()), HasSubstr("is no longer accepted"));
  EXPECT_THAT(Ask(open.get()), ::testing::Not(HasSubstr("who")));
  EXPECT_EQ(Ask(open_too.get()), R"({"who":"kept"})");
  EXPECT_THAT(Ask(ClientOf(lost).get()), ::testing::Not(HasSubstr("who")));
  EXPECT_EQ(Ask(ClientOf(kept).get()), R"({"who":"kept"})");
}

// With a list that has ended, or is another authority's, every client would be refused.
TEST_F(TlsTest, AListThatDoesNotCountIsRefusedBeforeItIsUsed) {
  const TlsFiles known = ca_.Issue("known");
  TlsFiles files = ca_.Issue("server");
  files.revoked = ca_.Revoke({});
  ASSERT_TRUE(Serve(files).ok());
  EXPECT_NEAR(static_cast<double>(tls_->revoked_expires()),
              static_cast<double>(std::time(nullptr) + 24 * 3600), 60);
  ca_.Revoke({}, {-7200, -10});
  EXPECT_EQ(tls_->Reload().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(tls_->Reload()), HasSubstr("revoked.pem: the list of /CN=throw-away"));
  ca_.Revoke({}, {600, 1200});
  EXPECT_THAT(Message(tls_->Reload()), HasSubstr("no valid list of revoked certificates"));
  EXPECT_EQ(Ask(ClientOf(known).get()), R"({"who":"known"})") << "all stays as it was";
  // Two authorities: each needs its list, or all its clients would be refused.
  const heft::testing::TemporaryFolder elsewhere;
  const ThrowAwayCa second(elsewhere.path(), "second");
  ca_.Revoke({});
  const std::string both = *ReadTextFile(ca_.authorities()) + *ReadTextFile(second.authorities());
  ASSERT_TRUE(WriteFileAtomic(ca_.authorities(), both).ok());
  EXPECT_THAT(Message(tls_->Reload()), HasSubstr("/CN=throw-away second"));
  const std::string lists = *ReadTextFile(files.revoked) + *ReadTextFile(second.Revoke({}));
  ASSERT_TRUE(WriteFileAtomic(files.revoked, lists).ok());
  ASSERT_TRUE(tls_->Reload().ok()) << tls_->Reload();
  EXPECT_EQ(Ask(ClientOf(known).get()), R"({"who":"known"})");
}

// A client's certificate that expires while the server runs, and one that is not for clients.
TEST_F(TlsTest, ExpiredClientsAreRefusedByTheServerToo) {
  ASSERT_TRUE(Serve(ca_.Issue("server")).ok());
  const TlsFiles files = ca_.Issue("short", {-10, 2});
  const auto tls = TlsContext::ForClient(files);
  ASSERT_TRUE(tls.ok()) << tls.status();
  std::this_thread::sleep_for(std::chrono::milliseconds(3100));
  const auto client =
      *HttpClient::Create("https://localhost:" + std::to_string(server_->port()), *tls);
  EXPECT_THAT(Ask(client.get()), ::testing::Not(HasSubstr("who")));
}

// Keys that never leave a token. This test has its own SoftHSM.
class TokenTest : public TlsTest {
 protected:
  static constexpr char kModule[] = "/usr/lib/softhsm/libsofthsm2.so";

  void SetUp() override {
    ASSERT_TRUE(std::filesystem::exists(kModule))
        << "softhsm2 is missing: scripts/install-dependencies";
    const std::string tokens = folder_ / "tokens";
    std::filesystem::create_directory(tokens);
    ASSERT_TRUE(WriteFileAtomic(folder_ / "softhsm2.conf",
                                "directories.tokendir = " + tokens +
                                    "\nobjectstore.backend = file\nlog.level = ERROR\n")
                    .ok());
    ASSERT_TRUE(WriteFileAtomic(folder_ / "pin", std::string_view("123456\n"), 0600).ok());
    setenv("SOFTHSM2_CONF", (folder_ / "softhsm2.conf").c_str(), 1);
    ASSERT_EQ(Run("softhsm2-util --init-token --free --label heft --so-pin 123456 --pin 123456"),
              0);
  }
  int Run(const std::string& command) const {
    return std::system((command + " >" + folder_.path() + "/out 2>&1").c_str());
  }
  // Import: puts a new P-256 key into the token, and returns it.
  std::shared_ptr<EVP_PKEY> Import(const std::string& name, const std::string& id) const {
    ca_.Issue(name);
    EXPECT_EQ(Run("softhsm2-util --import " + (folder_ / (name + ".key")) +
                  " --token heft --label " + name + " --id " + id + " --pin 123456"),
              0)
        << *ReadTextFile(folder_ / "out");
    auto key = LoadPrivateKey(folder_ / (name + ".key"));
    EXPECT_TRUE(key.ok()) << key.status();
    return *key;
  }
  std::string Uri(const std::string& name, const std::string& pin = "pin") const {
    return "pkcs11:token=heft;object=" + name + ";type=private?module-path=" + kModule +
           "&pin-source=file:" + (folder_ / pin);
  }
};

TEST_F(TokenTest, KeysInATokenSignAndServe) {
  const auto copy = Import("server", "a1");
  const auto key = LoadPrivateKey(Uri("server"));
  ASSERT_TRUE(key.ok()) << key.status();
  // The public half verifies the token's signatures.
  const auto signed_one = SignJws(key->get(), "server", {{"x", 1}});
  ASSERT_TRUE(signed_one.ok()) << signed_one.status();
  const auto jwk = PublicJwk(copy.get(), "server");
  const auto keys = KeySet::Parse(Json{{"keys", {Json(*jwk)}}}.dump(), "keys");
  ASSERT_TRUE(keys.ok()) << keys.status();
  EXPECT_TRUE(VerifyJws(*signed_one, *keys).ok());
  // TLS with the token's key, on both sides.
  const TlsFiles server = ca_.IssueFor(copy.get(), "server", Uri("server"));
  ASSERT_TRUE(Serve(server).ok());
  EXPECT_EQ(Ask(ClientOf(ca_.Issue("client")).get()), R"({"who":"client"})");
  EXPECT_EQ(Ask(ClientOf(server).get()), R"({"who":"server"})");
  EXPECT_TRUE(tls_->Reload().ok());
  EXPECT_EQ(Ask(ClientOf(ca_.Issue("client")).get()), R"({"who":"client"})");

  EXPECT_EQ(LoadPrivateKey(Uri("nobody")).status().code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(WriteFileAtomic(folder_ / "loose", std::string_view("123456"), 0644).ok());
  EXPECT_EQ(LoadPrivateKey(Uri("server", "loose")).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(LoadPrivateKey("pkcs11:object=x?pin-value=1234").status()),
              HasSubstr("pin-source"));
  // OpenSSL's engine has one module: it would look for the key of another module in the first.
  EXPECT_THAT(Message(LoadPrivateKey("pkcs11:object=server?module-path=/other.so").status()),
              HasSubstr(kModule));
  EXPECT_TRUE(TokenEngineIsLoaded());
}

}  // namespace
}  // namespace heft::service
