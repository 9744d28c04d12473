//! TLS to a PostgreSQL server, by rustls: the server's certificate is verified with its name, always.

use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use postgres::Socket;
use postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, InvalidDnsNameError, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::TlsConnector;

/// Makes TLS connections.
#[derive(Clone)]
pub struct Tls(TlsConnector);

impl Tls {
    /// Trusts the issuers in a file of certificates, else those that this host trusts.
    pub fn new(roots: Option<&Path>) -> Result<Tls, String> {
        let mut store = RootCertStore::empty();
        let certificates = match roots {
            Some(file) => CertificateDer::pem_file_iter(file)
                .and_then(Iterator::collect)
                .map_err(|why| {
                    format!(
                        "sslrootcert={}: {why}; fix: name a file of certificates in PEM",
                        file.display()
                    )
                })?,
            None => rustls_native_certs::load_native_certs().certs,
        };
        store.add_parsable_certificates(certificates);
        if store.is_empty() {
            return Err("no certificate to trust was found; fix: install ca-certificates, or add sslrootcert=FILE to the address"
                    .to_owned());
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.map_err(|why| why.to_string())?;
        let config = config.with_root_certificates(store).with_no_client_auth();
        Ok(Tls(TlsConnector::from(Arc::new(config))))
    }
}

/// The address without its TLS options, and the TLS that libpq's `sslmode` and `sslrootcert` request. Modes that do not require
/// TLS use none, because an attacker on the path could switch it off anyway.
pub fn of_address(address: &str) -> Result<(String, Option<Tls>), String> {
    let (base, query) = address.split_once('?').unwrap_or((address, ""));
    let (mut rest, mut is_required, mut roots) = (Vec::new(), false, None);
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some(("sslmode", "require" | "verify-ca" | "verify-full")) => is_required = true,
            Some(("sslmode", "disable" | "allow" | "prefer")) => {}
            Some(("sslmode", other)) => {
                return Err(format!(
                    "unknown sslmode={other}; fix: write verify-full for TLS, or disable"
                ));
            }
            Some(("sslrootcert", file)) => roots = Some(Path::new(file)),
            _ => rest.push(pair),
        }
    }
    if roots.is_some() && !is_required {
        return Err("sslrootcert is for TLS, which the address does not request; fix: add sslmode=verify-full"
                .to_owned());
    }
    rest.push(if is_required {
        "sslmode=require"
    } else {
        "sslmode=disable"
    });
    let tls = is_required.then(|| Tls::new(roots)).transpose()?;
    Ok((format!("{base}?{}", rest.join("&")), tls))
}

/// The fix for a failed TLS connection.
pub fn fix(why: &str) -> &'static str {
    match why.contains("certificate") {
        true => {
            "fix: give the certificate of its issuer (sslrootcert=FILE), and name the server as the certificate does"
        }
        false => {
            "fix: turn TLS on at the server (ssl = on), or reach it through a tunnel with sslmode=disable"
        }
    }
}

impl MakeTlsConnect<Socket> for Tls {
    type Stream = Stream;
    type TlsConnect = Connect;
    type Error = InvalidDnsNameError;

    fn make_tls_connect(&mut self, name: &str) -> Result<Connect, InvalidDnsNameError> {
        let name = ServerName::try_from(name.to_owned())?;
        Ok(Connect(self.0.clone(), name))
    }
}

/// Connects to a server of this name.
pub struct Connect(TlsConnector, ServerName<'static>);

impl TlsConnect<Socket> for Connect {
    type Stream = Stream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Stream>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        let made = self.0.connect(self.1, socket);
        Box::pin(async { Ok(Stream(Box::new(made.await?))) })
    }
}

/// A TLS connection.
pub struct Stream(Box<tokio_rustls::client::TlsStream<Socket>>);

impl TlsStream for Stream {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        of: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(of, into)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        of: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(of, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, of: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(of)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, of: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(of)
    }
}
