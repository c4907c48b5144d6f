"""A provider that means harm: every text it writes is markup, a template, a format or a script's address."""

from dataclasses import replace

from app.domain.offers import Offer
from tests.web import market

MARKUP = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)' x='",
    "</td></tr></table><script>alert(1)</script>",
    "</title></textarea><svg/onload=alert(1)>",
    "&lt;script&gt; & &amp; &#60;",
    "{{ 7 * 7 }} {% include 'base.html' %} %s %d %(x)s %% {0} ${x}",
    "<!-- --> ]]> <![CDATA[ <style>*{display:none}</style>",
    "\u202e\u2028 javascript:alert(1)",
)
ADDRESSES = (
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    " javascript:alert(1)",
    "java\nscript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:msgbox(1)",
    "//evil.example/x",
    "file:///etc/passwd",
    "https://",
)
HARMLESS = "plain words"


def offers(*, harmless: bool = False) -> list[Offer]:
    """Return the offers, or ones of the same shape with nothing in their texts to fear."""
    found = []
    for number, (text, address) in enumerate(zip(MARKUP, ADDRESSES, strict=True)):
        words = f"{HARMLESS} {number}" if harmless else text
        found.append(
            replace(
                market.offer("x", "x", None if number % 2 else "h100-sxm", "3"),
                provider=f"{words} Inc" if number else words,
                sku=f"{number} {words}",
                accelerator_as_written=words,
                family=None if number % 2 else "h100",
                slice_of=words if number % 4 == 1 else None,
                provider_term=words,
                tier=words,
                region=f"{words} {number}",
                currency="USD" if number < 7 else words[:12],
                fragment=words,
                source_url="no address" if harmless else address,
                assumptions=(words, f"{words} again"),
                variant_assumed=True,
            )
        )
    return found


def runs(*, harmless: bool = False) -> list[market.Run]:
    """Return one run for each provider, as a provider publishes alone."""
    return [(each.provider, market.at(20), [each]) for each in offers(harmless=harmless)]
