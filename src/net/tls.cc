// SPDX-License-Identifier: MIT
#include "net/tls.h"

#include <openssl/ssl.h>

namespace sluice::net {

Result<std::shared_ptr<TlsContext>> load_tls(const TlsFiles& files) {
  auto tls = std::make_shared<TlsContext>(TlsContext::tls_server);
  SSL_CTX* const raw = tls->native_handle();
  SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  SSL_CTX_set_options(
      raw, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_mode(raw, SSL_MODE_RELEASE_BUFFERS);  // An idle connection keeps none.
  boost::system::error_code problem;
  tls->use_certificate_chain_file(files.certificate, problem);
  if (problem)
    return error(Code::invalid_argument, "the certificate in " + files.certificate +
                                             " cannot be used: " + problem.message() +
                                             "; it must be PEM, with its chain");
  tls->use_private_key_file(files.key, TlsContext::pem, problem);
  if (problem)
    return error(Code::invalid_argument, "the key in " + files.key +
                                             " cannot be used: " + problem.message() +
                                             "; it must be PEM, and belong to the certificate");
  // A key of another kind than the certificate's is taken by the two calls above.
  if (SSL_CTX_check_private_key(raw) != 1)
    return error(Code::invalid_argument, "the key in " + files.key +
                                             " does not belong to the certificate in " +
                                             files.certificate +
                                             ": name a pair that was made "
                                             "together");
  return tls;
}

Result<std::shared_ptr<TlsContext>> load_trust(const std::string& ca_file) {
  auto tls = std::make_shared<TlsContext>(TlsContext::tls_client);
  SSL_CTX* const raw = tls->native_handle();
  SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  SSL_CTX_set_options(raw, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(raw, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nullptr);
  boost::system::error_code problem;
  if (ca_file.empty()) {
    tls->set_default_verify_paths(problem);
    if (problem)
      return error(Code::unavailable, "the certificates that the system trusts cannot be read: " +
                                          problem.message() + "; install ca-certificates");
    return tls;
  }
  tls->load_verify_file(ca_file, problem);
  if (problem)
    return error(Code::invalid_argument, "the trusted certificates in " + ca_file +
                                             " cannot be used: " + problem.message() +
                                             "; the file must be PEM");
  return tls;
}

}  // namespace sluice::net
