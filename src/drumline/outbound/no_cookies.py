"""No cookies: clients are shared by the requests of many tenants, so nothing that a server sets may be kept."""

from http.cookiejar import CookieJar, DefaultCookiePolicy


def no_cookies() -> CookieJar:
    """Return a jar that takes no cookie from any server and sends none to any; every client is given one."""
    return CookieJar(policy=DefaultCookiePolicy(allowed_domains=()))
