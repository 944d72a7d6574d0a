"""English months, as they are written in dates."""

MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)

# 1 to 12 of a month's name and short forms, in lower case.
MONTH_NUMBERS = {
    short: number for number, name in enumerate(map(str.lower, MONTHS), start=1) for short in (name, name[:3])
} | {"sept": 9}
