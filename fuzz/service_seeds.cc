// SPDX-License-Identifier: Apache-2.0
#include "fuzz/service_seeds.h"

namespace heft::fuzz {

using namespace std::string_view_literals;  // NOLINT: zero bytes within

// Requests begin with a byte that says how they are cut into pieces.
std::vector<TextSeed> ServiceSeeds() {
  return {
      {"http", "get", "\x05GET /v1/persons/a%2Fb?x=1&y=+%41 HTTP/1.1\r\nHost: x\r\n\r\n"},
      {"http", "json",
       "\x07POST /v1/persons/special HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
       "Expect: 100-continue\r\nContent-Length: 25\r\n\r\n{\"a\":[1,2.5,{\"b\":\"\\u00e9\"}]}"},
      {"http", "form",
       "\x11POST /v1/identify/g HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; "
       "boundary=b\r\nContent-Length: 120\r\n\r\n--b\r\nContent-Disposition: form-data; "
       "name=\"face\"; filename=\"f.ct\"\r\nContent-Type: application/vnd.heft\r\n\r\nHEFT\r\n\r\n"
       "--b--\r\n"},
      {"http", "chunks",
       "\x03POST /v1/persons/x/encounters HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
       "5;a=b\r\n--b\r\n\r\n3\r\n{} \r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n"},
      {"token", "claims",
       R"({"iss":"i","sub":"s","aud":["a","b"],"iat":1799999000,"exp":1800003000,)"
       R"("nbf":1799999000,"roles":["operator"],"scope":"audit:read x",)"
       R"("cnf":{"x5t#S256":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}})"},
      {"token", "header-and-claims",
       "{\"alg\":\"EdDSA\",\"typ\":\"at+jwt\",\"kid\":\"k\"}\0"
       "{\"iss\":\"i\",\"sub\":\"s\",\"aud\":\"a\",\"iat\":1.8e9,\"exp\":1.8e9,\"roles\":\"auditor\"}"sv},
      {"token", "compact", "eyJhbGciOiJFZERTQSIsImtpZCI6ImsifQ.e30.AAAA"},
      {"token", "keys",
       R"({"keys":[{"kty":"OKP","crv":"Ed25519","kid":"1",)"
       R"("x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"},)"
       R"({"kty":"EC","crv":"P-256","kid":"2","alg":"ES256","use":"sig",)"
       R"("x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",)"
       R"("y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"},)"
       R"({"kty":"RSA","kid":"3","e":"AQAB","n":"AAAA"}]})"},
      {"token", "base64", "Zm9vYg=="},
      {"config", "all",
       "[listen]\naddress = \"127.0.0.1:0\"\ndrain = 5\n[tls]\ncertificate = \"c\"\n"
       "private_key = \"pkcs11:object=x\"\nauthorities = \"/a\"\n[limits]\nworkers = 8\n"
       "[[certificate]]\nsubject = \"gate\"\nroles = [\"client\", \"machine\"]\n[[certificate]]\n"
       "fingerprint = \"abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789\"\n"
       "carries_tokens = true\n[tokens]\nissuer = \"i\"\naudience = \"a\"\nkeys = \"j\"\n"
       "roles = [\"operator\"]\n[access]\nnonces = \"n\"\nrequests_a_second = 2.5\n[audit]\n"
       "file = \"f\"\n[metrics]\naddress = \"[::1]:9100\"\n[log]\nlevel = \"error\"\n"},
      {"config", "least",
       "tls = {certificate='c', private_key='k', authorities='a'}\naccess.nonces='n'\n"
       "audit.file='f'\n"},
      {"audit_trail", "two-lines",
       "{\"seq\":1,\"time\":\"2026-11-22T16:00:00.000Z\",\"prev\":"
       "\"0000000000000000000000000000000000"
       "000000000000000000000000000000\",\"event\":\"start\"}\n{\"seq\":2,\"prev\":\"x\"}\n"},
      {"audit_trail", "half-line", "{\"seq\":1,\"ti"},
      {"audit_trail", "empty", ""},
  };
}

}  // namespace heft::fuzz
