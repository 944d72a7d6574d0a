"""Units of measure, currencies and magnitudes, by the words and signs that are written for them."""

from __future__ import annotations

import dataclasses
import functools
import re
from fractions import Fraction


@dataclasses.dataclass(frozen=True, slots=True)
class Unit:
    """`word` is how it is written. A value in `base` is `factor` times the written number, plus `offset`. `smaller` is
    the unit that may follow in a compound: inches after feet."""

    word: str
    base: str
    kind: str = "measure"
    factor: Fraction = Fraction(1)
    offset: Fraction = Fraction(0)
    smaller: str | None = None

    def forth(self, number: Fraction) -> Fraction:
        return number * self.factor + self.offset

    def back(self, value: Fraction) -> Fraction:
        return (value - self.offset) / self.factor


# Base unit, factor, words. The factors are exact by definition.
_MEASURES = """
m 1 m metre metres meter meters
m 1000 km kilometre kilometres kilometer kilometers Kilometer
m 1/10 dm decimetre decimetres
m 1/100 cm centimetre centimetres centimeter centimeters
m 1/1000 mm millimetre millimetres millimeter millimeters
m 1/1000000 µm μm micrometre micrometres micron microns
m 1/1000000000 nm nanometre nanometres nanometer nanometers
m 1609.344 mi mile miles
m 0.9144 yd yds yard yards
m 0.3048 ft foot feet '
m 0.0254 in inch inches "
m 1852 nmi
m2 1 m² m2 sqm
m2 1000000 km² km2
m2 1/10000 cm² cm2
m2 10000 ha hectare hectares
m2 4046.8564224 acre acres
m2 0.09290304 ft² ft2 sqft
m2 2589988.110336 mi² mi2
m3 1 m³ m3
m3 1000000000 km³ km3
m3 1/1000000 cm³ cm3 cc ml millilitre millilitres milliliter milliliters
m3 1/100000 cl centilitre centilitres
m3 1/10000 dl decilitre decilitres
m3 1/1000 l L litre litres liter liters
m3 1/10 hl hectolitre hectolitres
m3 1 kl
m3 0.003785411784 gallon gallons
kg 1 kg kilogram kilograms kilogramme kilogrammes kilo kilos
kg 1/1000 g gram grams gramme grammes
kg 1/1000000 mg milligram milligrams
kg 1/1000000000 µg μg
kg 1000 t tonne tonnes
kg 0.45359237 lb lbs pound pounds
kg 0.028349523125 oz ounce ounces
s 1 s sec secs second seconds
s 1/1000 ms millisecond milliseconds
s 60 min mins minute minutes
s 3600 h hr hrs hour hours
s 86400 d day days
s 604800 week weeks
year 1 year years yr yrs
year 1/12 month months
year 10 decade decades
year 100 century centuries
m/s 1 m/s
m/s 5/18 km/h kmh kph
m/s 0.44704 mph
m/s 463/900 knot knots
K 1 K kelvin
° 1 ° degree degrees
B 1 byte bytes
B 1000 kB KB
B 1000000 MB
B 1000000000 GB
B 1000000000000 TB
B 1024 KiB
B 1048576 MiB
B 1073741824 GiB
W 1 W w watt watts
W 1000 kW kilowatt kilowatts
W 1000000 MW megawatt megawatts
W 1000000000 GW gigawatt gigawatts
J 1 J j joule joules
J 1000 kJ
J 1000000 MJ
J 3600 Wh
J 3600000 kWh
J 3600000000 MWh
J 3600000000000 GWh
J 4184 kcal
Hz 1 Hz hertz
Hz 1000 kHz
Hz 1000000 MHz
Hz 1000000000 GHz
Pa 1 Pa
Pa 100 hPa mbar
Pa 1000 kPa
V 1 V volt volts
V 1000 kV
% 1 % percent pct Prozent Prozentpunkte pp
% 1/10 ‰
% 1/100 bps bp
"""
_SEVERAL_WORDS = {  # in other words
    "sq m": "m²", "square metres": "m²", "square meters": "m²", "square metre": "m²",
    "sq km": "km²", "square kilometres": "km²", "square kilometers": "km²", "square kilometre": "km²",
    "sq ft": "ft²", "square feet": "ft²", "sq mi": "mi²", "square miles": "mi²", "square mile": "mi²",
    "cubic metres": "m³", "cubic meters": "m³", "nautical miles": "nmi", "sq. km": "km²",
    "degrees Celsius": "°C", "degrees Fahrenheit": "°F", "degrees C": "°C", "degrees F": "°F",
    "per cent": "%", "percentage points": "%", "percentage point": "%", "basis points": "bps", "basis point": "bps",
}  # fmt: skip
_SMALLER = {"ft": "in", "foot": "in", "feet": "in", "'": '"', "h": "min", "hr": "min", "hrs": "min", "hour": "min", "hours": "min",
            "min": "s", "mins": "s", "minute": "s", "minutes": "s", "km": "m", "m": "cm", "kg": "g", "lb": "oz", "lbs": "oz", "pounds": "oz", "d": "h", "days": "h", "day": "h"}  # fmt: skip

# Unit of value -> its words and signs; dollars without a country, euros, pounds, yen and rupees go by their sign.
_CURRENCIES = {
    "$": "$ US$ USD dollar dollars",
    "€": "€ EUR euro euros",
    "£": "£ GBP sterling",
    "¥": "¥ JPY yen",
    "₹": "₹ INR Rs Rs. rupee rupees",
    "₽": "₽ RUB rouble roubles ruble rubles",
    "₩": "₩ KRW",
    "CHF": "CHF Fr.",
    "AUD": "A$ AUD", "CAD": "C$ CAD", "NZD": "NZ$ NZD", "HKD": "HK$ HKD", "SGD": "S$ SGD", "BRL": "R$ BRL", "MXN": "MXN",
    "kr": "kr kr. krona kronor krone kroner", "SEK": "SEK", "NOK": "NOK", "DKK": "DKK",
    "PLN": "PLN zł zloty", "CZK": "CZK Kč", "HUF": "HUF Ft", "CNY": "CNY RMB yuan", "TRY": "TRY ₺", "ZAR": "ZAR", "ILS": "ILS ₪",
}  # fmt: skip
# The currencies that may precede a number, as an expression.
CURRENCY_BEFORE = r"(?:US|NZ|HK|[ACSR])?\$|[€£¥₹₽₩₺₪]|(?<![^\W\d_])(?:USD|EUR|GBP|JPY|INR|CHF|AUD|CAD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|CNY|RUB|BRL|Rs\.?|Fr\.)"

MAGNITUDES = {
    "hundred": 100, "k": 1000, "K": 1000, "thousand": 1000, "tsd": 1000, "тыс": 1000, "千": 1000,
    "万": 10**4, "萬": 10**4, "lakh": 10**5, "lakhs": 10**5, "lac": 10**5, "m": 10**6, "M": 10**6, "MM": 10**6, "mn": 10**6,
    "mln": 10**6, "mio": 10**6, "million": 10**6, "millions": 10**6, "millionen": 10**6, "millón": 10**6, "millones": 10**6,
    "milhões": 10**6, "milioni": 10**6, "млн": 10**6, "crore": 10**7, "crores": 10**7, "亿": 10**8, "億": 10**8,
    "b": 10**9, "B": 10**9, "bn": 10**9, "bln": 10**9, "billion": 10**9, "billions": 10**9, "mrd": 10**9, "milliarde": 10**9,
    "milliarden": 10**9, "milliard": 10**9, "milliards": 10**9, "miliardi": 10**9, "млрд": 10**9, "trillion": 10**12,
    "trillions": 10**12, "tn": 10**12, "trn": 10**12, "兆": 10**12, "dozen": 12,
}  # fmt: skip
# Units that do not follow a hyphen: `5-m`.
AFTER_NO_HYPHEN = frozenset("m g s h d t l K L V W J in min a".split())

# The units of several words, as an expression.
SEVERAL_WORDS = "|".join(sorted(map(re.escape, _SEVERAL_WORDS), key=len, reverse=True))


def _read() -> dict[str, Unit]:
    found: dict[str, Unit] = {}
    for base, factor, *words in map(str.split, _MEASURES.strip().splitlines()):
        kind = "percent" if base == "%" else "measure"
        found.update((word, Unit(word, base, kind, Fraction(factor), smaller=_SMALLER.get(word))) for word in words)
    zero = Fraction("273.15")
    found["°C"] = Unit("°C", "K", offset=zero)
    found["°F"] = Unit("°F", "K", factor=Fraction(5, 9), offset=zero - Fraction(160, 9))
    for base, words in _CURRENCIES.items():
        for word in words.split():
            found[word] = Unit(word, base, "currency")
            if len(word) == 3 and word.isupper():
                found["M" + word] = Unit("M" + word, base, "currency", Fraction(10**6))
    found.update(
        (words.lower(), dataclasses.replace(found[word], word=words)) for words, word in _SEVERAL_WORDS.items()
    )
    return found


_UNITS = _read()
# In small letters, but for codes of currencies: a `try` is not money.
_SMALL = {
    word.lower(): unit
    for word, unit in _UNITS.items()
    if len(word) > 1 and (unit.kind != "currency" or word in ("USD", "EUR", "GBP"))
}


@functools.lru_cache(maxsize=4096)
def find(word: str) -> Unit | None:
    """The unit of a word or sign; case counts where two units differ by it."""
    return _UNITS.get(word) or _SMALL.get(word.lower())


def currency(sign: str) -> Unit:
    """The currency of a match of `CURRENCY_BEFORE`."""
    return _UNITS[sign]
