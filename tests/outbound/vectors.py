"""Ways that people have found to make a server call its own inside, and addresses that are nobody's inside."""

from collections.abc import Iterator
from ipaddress import IPv4Address

INSIDE = (
    "127.0.0.1", "127.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.254", "192.168.1.1", "169.254.169.254",
    "169.254.10.20", "0.0.0.0", "100.64.0.1", "198.18.0.1", "224.0.0.1", "255.255.255.255",
)  # fmt: skip
"""One of each kind, to be written in as many ways as there are."""

LITERAL = (
    "http://127.0.0.1/", "http://127.0.0.1:80/", "http://127.0.0.1:443/", "https://127.0.0.1/", "http://127.255.255.255/",
    "http://0.1.2.3/", "http://10.255.255.255/", "http://100.127.255.255/", "http://100.100.100.200/latest/meta-data/",
    "http://168.63.129.16/metadata", "http://169.254.169.254/latest/meta-data/iam/security-credentials/",
    "http://169.254.169.253/", "http://169.254.170.2/v2/credentials", "http://192.0.0.1/", "http://192.0.0.192/",
    "http://192.0.2.1/", "http://192.88.99.1/", "http://192.168.255.255/", "http://198.19.255.255/",
    "http://198.51.100.7/", "http://203.0.113.9/", "http://239.255.255.250:1900/", "http://240.0.0.1/",
    "http://254.1.1.1/", "http://255.255.255.254/", "http://127.0.0.1./", "http://127.0.0.1?x=1", "http://127.0.0.1#x",
    "HTTP://127.0.0.1/", "hTTps://127.0.0.1/", "http://127.0.0.1:65535/", "http://127.0.0.1:8080/admin?next=//1.1.1.1",
)  # fmt: skip

IPV6 = (
    "http://[::1]/", "http://[::1]:80/", "http://[0:0:0:0:0:0:0:1]/", "http://[0000::0001]/", "http://[::]/",
    "http://[0::0]/", "http://[::ffff:127.0.0.1]/", "http://[::FFFF:7f00:1]/", "http://[0:0:0:0:0:ffff:127.0.0.1]/",
    "http://[::ffff:169.254.169.254]/", "http://[::ffff:a9fe:a9fe]/", "http://[::ffff:10.0.0.1]/",
    "http://[::ffff:8.8.8.8]/", "http://[::127.0.0.1]/", "http://[::7f00:1]/", "http://[::a9fe:a9fe]/",
    "http://[::ffff:0:127.0.0.1]/", "http://[::ffff:0:7f00:1]/", "http://[64:ff9b::127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/", "http://[64:ff9b::a9fe:a9fe]/", "http://[64:ff9b::10.0.0.1]/",
    "http://[64:ff9b:1::7f00:1]/", "http://[64:ff9b:1:ffff::10.0.0.1]/", "http://[2002:7f00:1::]/",
    "http://[2002:7f00:0001::1]/", "http://[2002:a9fe:a9fe::]/", "http://[2002:0a00:0001::]/", "http://[2002:c0a8:101::1]/",
    "http://[2001:0:7f00:1::1]/", "http://[2001:0000:4136:e378:8000:63bf:3fff:fdd2]/", "http://[2001:10::1]/",
    "http://[2001:20::1]/", "http://[2001:2::1]/", "http://[2001:db8::1]/", "http://[3fff::1]/", "http://[3fff:fff::1]/",
    "http://[100::1]/", "http://[100:0:0:1::1]/", "http://[200::1]/", "http://[400::1]/", "http://[5f00::1]/",
    "http://[4000::1]/", "http://[8000::1]/", "http://[e000::1]/", "http://[fc00::1]/", "http://[fd00::1]/",
    "http://[fd00:ec2::254]/latest/meta-data/", "http://[fdff:ffff::1]/", "http://[fe80::1]/", "http://[febf::1]/",
    "http://[fec0::1]/", "http://[ff00::1]/", "http://[ff02::1]/", "http://[ff05::1:3]/",
    "http://[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]/", "http://[2600::5efe:7f00:1]/", "http://[2600::5efe:10.0.0.1]/",
    "http://[2600::200:5efe:192.168.0.1]/",
    # not even addresses
    "http://[::1%25lo]/", "http://[::1%lo]/", "http://[fe80::1%25eth0]/", "http://[fe80::1%eth0]/", "http://[::1", "http://::1/",
    "http://[::1]]/", "http://[[::1]]/", "http://[]/", "http://[127.0.0.1]/", "http://[localhost]/", "http://[::g]/",
    "http://[::1]evil.example/", "http://evil.example[::1]/", "http://[v1.fe80::a+en1]/", "http://[0x7f.1]/",
    "http://[::ffff:127.0.0.1.]/", "http://[::ffff:0127.0.0.1]/", "http://[1:2:3:4:5:6:7:8:9]/", "http://[::1]:/",
    "http://[::1]:0/", "http://[::1]:99999/", "http://[::1]:80:80/", "http://[::1]@1.1.1.1/",
)  # fmt: skip

SCHEMES = (
    "file:///etc/passwd", "file://localhost/etc/passwd", "FILE:///etc/passwd", "ftp://1.1.1.1/", "ftps://1.1.1.1/",
    "gopher://1.1.1.1:6379/_INFO", "dict://1.1.1.1:11211/stat", "ldap://1.1.1.1/", "ldaps://1.1.1.1/", "tftp://1.1.1.1/x",
    "sftp://1.1.1.1/", "scp://1.1.1.1/", "ssh://1.1.1.1/", "telnet://1.1.1.1/", "smtp://1.1.1.1/", "imap://1.1.1.1/",
    "jar:http://1.1.1.1!/", "jar:file:///x!/", "netdoc:///etc/passwd", "data:text/plain,hi", "data://text/plain,hi",
    "javascript:alert(1)", "about:blank", "ws://1.1.1.1/", "wss://1.1.1.1/", "unix:///run/docker.sock",
    "http+unix://%2Frun%2Fdocker.sock/info", "http:", "http:/", "http:///", "http:////1.1.1.1/", "http:/1.1.1.1/",
    "http:1.1.1.1", "//1.1.1.1/", "///1.1.1.1", "/1.1.1.1", "1.1.1.1", "1.1.1.1/http://1.1.1.1/", "", " ", "://1.1.1.1",
    "http//1.1.1.1", "httpx://1.1.1.1/", "https2://1.1.1.1/", "view-source:http://1.1.1.1/", "url:http://1.1.1.1/",
    "php://filter/resource=x", "expect://id", "phar://x", "zip://x", "s3://bucket/key", "gs://bucket/key", "redis://1.1.1.1/",
    "postgresql://1.1.1.1/", "http://", "https://", "http://?", "http://#", "http://:80/", "http://:", "http://@/",
)  # fmt: skip

AUTHORITIES = (
    # who is asked: what is before the @, or what is behind it?
    "http://1.1.1.1@127.0.0.1/", "http://user@127.0.0.1/", "http://user:pass@127.0.0.1/", "http://user:pass@1.1.1.1/",
    "http://1.1.1.1:80@127.0.0.1/", "http://1.1.1.1%40127.0.0.1/", "http://1.1.1.1@@127.0.0.1/",
    "http://127.0.0.1@1.1.1.1@10.0.0.1/", "http://@127.0.0.1/", "http://:@127.0.0.1/", "http://foo@127.0.0.1:80@1.1.1.1/",
    "http://foo@evil.example:80@127.0.0.1/", "http://1.1.1.1 @127.0.0.1/", "http://1.1.1.1\t@127.0.0.1/",
    "http://1.1.1.1%20@127.0.0.1/", "http://1.1.1.1\\@127.0.0.1/", "http://127.0.0.1\\@1.1.1.1/",
    "http://1.1.1.1;@127.0.0.1/", "http://1.1.1.1&@127.0.0.1#@10.0.0.1/", "http://1.1.1.1,127.0.0.1/",
    # where does the host end?
    "http:\\\\127.0.0.1\\", "http:/\\127.0.0.1/", "http://127.0.0.1\\.evil.example/", "http://evil.example\\127.0.0.1/",
    "http://127.0.0.1%2f.evil.example/", "http://127.0.0.1%23.evil.example/", "http://127.0.0.1%3f.evil.example/",
    "http://127.0.0.1%00.evil.example/", "http://evil.example%00.127.0.0.1/", "http://127.0.0.1\x00.evil.example/",
    "http://127.0.0.1\r\nHost: x/", "http://127.0.0.1\n/", "http://\n127.0.0.1/", "http://127.0.0.1%0d%0aX: y/",
    "http://1.1.1.1\r\nX-Evil: 1/", "http://127.0.0.1 /", "http:// 127.0.0.1/", " http://127.0.0.1/", "http://127.0.0.1/\n",
    "\x00http://127.0.0.1/", "http\n://127.0.0.1/", "ht\ttp://127.0.0.1/", "http://127.0\t.0.1/", "http://127.0.0\u200b.1/",
    "http://127.0.0.1\u3000/", "http://127.0.0.1\ufeff/", "http://127.0.0.1:80:443/", "http://127.0.0.1:/",
    "http://127.0.0.1:0/", "http://127.0.0.1:-80/", "http://127.0.0.1:+80/", "http://127.0.0.1:80a/",
    "http://127.0.0.1:8 0/",
    "http://127.0.0.1:65536/", "http://127.0.0.1:99999/", "http://127.0.0.1:080080/", "http://127.0.0.1:\u0661/",
    "http://evil.example:port/", "http://evil.example:80@/", "http://-evil.example/", "http://evil..example/",
    "http://.evil.example/", "http://evil.example../", "http://evil_$.example/", "http://ev!l.example/", "http://evil*.example/",
    "http://" + "a" * 64 + ".example/", "http://" + "a." * 127 + "example/", "http://evil.example/" + "a" * 2048,
    # other alphabets that end up as digits and dots
    "http://\uff11\uff12\uff17.0.0.1/", "http://127\u30020\u30020\u30021/", "http://127\uff0e0\uff0e0\uff0e1/",
    "http://127\uff610\uff610\uff611/", "http://\u2460\u2461\u2466.\u24ea.\u24ea.\u2460/", "http://\u0661\u0662\u0667.0.0.1/",
    "http://\u24d4xample.example/", "http://loc\u00adalhost/", "http://\u24c1ocalhost/", "http://localho\u017ft/",
    "http://\U0001d7cf\U0001d7d0\U0001d7d5.0.0.1/", "http://m\u00fcnchen.example/",
)  # fmt: skip

PORTS = tuple(
    f"http://1.1.1.1:{port}/"
    for port in (1, 7, 9, 19, 21, 22, 23, 25, 53, 79, 81, 110, 111, 113, 119, 123, 135, 137, 139, 143, 161, 179, 389,
                 444, 445, 465, 512, 513, 514, 515, 543, 587, 631, 636, 873, 990, 993, 995, 1023)
)  # fmt: skip

NAMES = {
    "localhost": ("127.0.0.1", "::1"),
    "localhost.": ("127.0.0.1",),
    "localhost.localdomain": ("127.0.0.1",),
    "ip6-localhost": ("::1",),
    "sub.localhost": ("127.0.0.1",),
    "loopback.example": ("127.0.0.1",),
    "loopback6.example": ("::1",),
    "mapped.example": ("::ffff:127.0.0.1",),
    "metadata.google.internal": ("169.254.169.254",),
    "metadata.example": ("169.254.169.254",),
    "instance-data.ec2.internal": ("169.254.169.254",),
    "azure.example": ("168.63.129.16",),
    "private.example": ("10.0.0.1",),
    "private172.example": ("172.20.0.1",),
    "private192.example": ("192.168.0.1",),
    "cgnat.example": ("100.64.1.1",),
    "zero.example": ("0.0.0.0",),
    "broadcast.example": ("255.255.255.255",),
    "multicast.example": ("224.0.0.251",),
    "unique-local.example": ("fd12:3456::1",),
    "link-local6.example": ("fe80::1%eth0",),
    "nat64.example": ("64:ff9b::10.0.0.1",),
    "6to4.example": ("2002:7f00:1::",),
    "both.example": ("93.184.215.14", "10.0.0.1"),
    "both6.example": ("2606:2800:21f:cb07:6820:80da:af6b:8b2c", "::1"),
    "last-of-many.example": (*(f"93.184.215.{n}" for n in range(1, 40)), "127.0.0.1"),
    "127.0.0.1.nip.example": ("127.0.0.1",),
    "xn--lcalhost-54a.example": ("127.0.0.1",),
    "a" * 63 + ".example": ("10.1.1.1",),
    "redis": ("172.18.0.2",),
    "under_score.example": ("10.9.9.9",),
}
"""Harmless looking names, and what they resolve to."""

OUTSIDE = (
    "http://93.184.215.14/", "https://93.184.215.14/hooks/7?x=1#y", "http://93.184.215.14:8080/", "http://1.1.1.1:1024/",
    "http://172.15.255.255/", "http://172.32.0.1/", "http://192.167.255.255/", "http://192.169.0.1/", "http://11.0.0.1/",
    "http://9.255.255.255/", "http://100.63.255.255/", "http://100.128.0.1/", "http://126.255.255.255/", "http://128.0.0.1/",
    "http://169.253.255.255/", "http://169.255.0.1/", "http://198.17.255.255/", "http://198.20.0.1/", "http://223.255.255.255/",
    "http://168.63.129.15/", "https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/", "http://[2001:4860:4860::8888]:8443/",
    "http://[2a00:1450:4001:830::200e]/", "http://[2400:cb00:2048:1::c629:d7a2]/", "http://[2003:1::1]/",
    "https://hooks.example/", "https://HOOKS.example:8443/a/b", "http://hooks.example./", "https://hooks.example?x=http://127.0.0.1/",
    "https://hooks.example/http://127.0.0.1/@x", "https://xn--mnchen-3ya.example/",
)  # fmt: skip
"""Places that anybody may call."""


def written(address: str) -> Iterator[str]:
    """Yield an IPv4 address in the ways that some C library, browser or language reads as the same."""
    packed = int(IPv4Address(address))
    a, b, c, d = IPv4Address(address).packed
    yield address
    yield str(packed)
    yield f"0x{packed:08x}"
    yield f"0X{packed:X}"
    yield f"0{packed:o}"
    yield f"0x{a:x}.0x{b:x}.0x{c:x}.0x{d:x}"
    yield f"0{a:o}.0{b:o}.0{c:o}.0{d:o}"
    yield f"0x{a:02x}.{b}.{c}.{d}"
    yield f"{a}.{b}.{c}.0x{d:x}"
    yield f"{a:04d}.{b:03d}.{c:03d}.{d:03d}"
    yield f"{a}.{(b << 16) + (c << 8) + d}"
    yield f"{a}.{b}.{(c << 8) + d}"
    yield f"{a}.0x{(b << 16) + (c << 8) + d:x}"
    yield f"{a + 256}.{b}.{c}.{d}"
    yield f"{address}.."
    yield f"{a}.{b}.{c}.{d}.0"


def forbidden_urls() -> list[str]:
    """Return every URL that must be refused without asking a resolver."""
    encoded = [f"http://{form}/" for address in INSIDE for form in written(address)]
    return list(dict.fromkeys((*LITERAL, *IPV6, *SCHEMES, *AUTHORITIES, *PORTS, *encoded)))
