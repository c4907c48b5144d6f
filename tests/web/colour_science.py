"""How far apart colours are, for whom: contrast, CIEDE2000, and what the colour-blind see."""

from math import atan2, cos, degrees, exp, hypot, radians, sin, sqrt

Rgb = tuple[float, float, float]
Matrix = tuple[Rgb, Rgb, Rgb]

NORMAL: Matrix = ((1, 0, 0), (0, 1, 0), (0, 0, 1))

SEEN_BY: dict[str, Matrix] = {
    "everybody else": NORMAL,
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
"""Linear RGB as these eyes see it, at severity 1.0.

Machado, Oliveira, Fernandes (2009), "A Physiologically-based Model for Simulation of Color Vision
Deficiency", doi 10.1109/TVCG.2009.113.
"""

# IEC 61966-2-1: linear sRGB to XYZ with the white of D65.
_TO_XYZ: Matrix = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))


def linear(colour: str) -> Rgb:
    """Return the linear parts, 0 to 1, of a colour written as #rrggbb."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return red, green, blue


def apply(matrix: Matrix, parts: Rgb) -> Rgb:
    one, two, three = (sum(a * b for a, b in zip(row, parts, strict=True)) for row in matrix)
    return one, two, three


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours by WCAG 2.2: from 1 to 21."""
    low, high = sorted(apply(_TO_XYZ, linear(each))[1] for each in (one, other))
    return (high + 0.05) / (low + 0.05)


def lab(colour: str, eye: Matrix = NORMAL) -> Rgb:
    """Return L*, a*, b* of a colour as somebody with this eye sees it."""
    red, green, blue = (min(1.0, max(0.0, part)) for part in apply(eye, linear(colour)))
    white = apply(_TO_XYZ, (1, 1, 1))
    x, y, z = (
        part ** (1 / 3) if part > (6 / 29) ** 3 else part / (3 * (6 / 29) ** 2) + 4 / 29
        for part in (a / b for a, b in zip(apply(_TO_XYZ, (red, green, blue)), white, strict=True))
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def ciede2000(one: Rgb, other: Rgb) -> float:
    """Return the difference of two colours in L*, a*, b*; Sharma, Wu, Dalal (2005), doi 10.1002/col.20070."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    mean_c = (hypot(a1, b1) + hypot(a2, b2)) / 2
    grey = 0.5 * (1 - sqrt(mean_c**7 / (mean_c**7 + 25**7)))
    a1, a2 = a1 * (1 + grey), a2 * (1 + grey)
    c1, c2 = hypot(a1, b1), hypot(a2, b2)
    h1, h2 = (degrees(atan2(b, a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = 0.0 if c1 * c2 == 0 else (h2 - h1 + 180) % 360 - 180
    delta_h = 2 * sqrt(c1 * c2) * sin(radians(turn / 2))
    mean_l, mean_c = (l1 + l2) / 2, (c1 + c2) / 2
    mean_h = h1 + h2 if c1 * c2 == 0 else (h1 + turn / 2) % 360
    weight = (
        1
        - 0.17 * cos(radians(mean_h - 30))
        + 0.24 * cos(radians(2 * mean_h))
        + 0.32 * cos(radians(3 * mean_h + 6))
        - 0.20 * cos(radians(4 * mean_h - 63))
    )
    light = (l2 - l1) / (1 + 0.015 * (mean_l - 50) ** 2 / sqrt(20 + (mean_l - 50) ** 2))
    chroma = (c2 - c1) / (1 + 0.045 * mean_c)
    hue = delta_h / (1 + 0.015 * mean_c * weight)
    rotation = (
        -2 * sqrt(mean_c**7 / (mean_c**7 + 25**7)) * sin(radians(60 * exp(-(((mean_h - 275) / 25) ** 2))))
    )
    return sqrt(light**2 + chroma**2 + hue**2 + rotation * chroma * hue)
