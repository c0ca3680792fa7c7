internal import SettingsHTTP

/// `https://` for the settings of this program through Foundation, in place of the system's OpenSSL: for machines that reach
/// servers through a web proxy, and for HTTP/2.
///
/// A program calls ``enable()`` once, before its first request:
///
///     import SettingsClientHTTPS
///     import SettingsHTTP
///
///     HTTPS.enable()
///     let client = try SettingsClient("https://settings.example.com")
///
/// From then on everything of SettingsClient and SettingsHTTP works with such addresses, `SETTINGS_URL` included, and nothing else changes.
/// Requests go through one `URLSession` of the process, over HTTP/2 where the proxy offers it.
///
/// What differs from the module's own connections:
///
/// - The certificate has to be for the host in the address, by an authority that the system trusts
///   (`/etc/ssl/certs/ca-certificates.crt` on Debian). There is no other setting for that: an authority of your own is made
///   known to the system. Certificates of clients are not supported: a proxy must not ask for one, as the
///   `ssl_verify_client` of the example `config/nginx.conf` does.
/// - A blocking request is still under its deadline, but the session needs threads of Dispatch meanwhile: where all of those
///   are blocked, it fails at its deadline.
/// - A write that is cancelled, or that has no answer in time, may have been done, always: how far the session had come
///   is not known. So with any failure of a write without a body, a removal.
/// - Such a write without an idempotency key gets one, as the session may send it again by itself: so it is done once.
/// - The variables `https_proxy` and `no_proxy` of the environment are obeyed.
///
/// Redirections are not followed: one is an error with its status. There are no cookies and there is no cache.
public enum HTTPS {
    /// Has addresses of `https://` reached from here on, in the whole process. More than once does nothing more.
    public static func enable() {
        Carriers.register { SessionCarrier() }
    }
}
