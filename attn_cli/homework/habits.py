"""The constants of marking: what digits claim, what is forgiven, and how far marking looks. Each says its unit and what raising it does."""

from __future__ import annotations

# ------------------------------------------------------------------ what digits claim
TIE = 1e-9
"""Relative. A number this near to half a unit counts as exactly half a unit off. Raised, it lets numbers pass that are off by more."""
MOST_DIGITS = 12
"""Significant digits. More of them are not claimed. Raised, the rounding errors of double precision would be called mistakes."""
WHOLE_DECIMALS, WHOLE_DIGITS = 2, 3
"""Decimals and significant digits that a whole number claims, whichever is looser. Raised, whole numbers are judged more strictly."""
EXPONENT_DIGITS = 2
"""Significant digits that hidden steps keep, at least, where an answer has an exponent. Raised, less rounding on the way is forgiven."""
MASKED = -1000.0
"""A masked score may be written as any number up to this one. Raised, ordinary scores pass for masked ones."""

# ------------------------------------------------------------------ what rounding may explain
KEPT_DIGITS = 2
"""Significant digits that hidden exponentials, row sums and weights keep, at least. Raised, less rounding on the way is forgiven."""
METHOD_UNITS = 3
"""Units of the last digit that rounding may explain where a mistake of method gives the same digits, and beyond which it takes no mistake
to what was written. Raised, wrong methods pass, and more names are false."""
SURELY, TOO_FAR = 0.5, 4.0
"""Parts of the first-order reach of the rounding. A cell nearer than the first is reached; one farther than the second is not; the
engine is run for those between. Raised, the first lets curved steps pass unchecked; the second only costs time."""
PLAUSIBLE = 8
"""Times the unit and the largest numbers about, besides the lengths of the sums: rounding moves no cell farther. Raised, more cells are
looked at closely in vain."""
FEW, MANY, MOVES = 6, 300, 12
"""Cells, cells, runs. Beyond FEW cells the numbers are first moved for all of them at once, MOVES times at most; one by one MANY cells
are looked at, or FEW in a step of VERY_MANY. Raised, big answers take longer and more of their cells are explained."""
VERY_MANY = 10_000
"""Cells of a step that is looked at in FEW cells only. Raised, big answers take longer."""

# ------------------------------------------------------------------ habits that are forgiven
SINGLE_DIGITS, SINGLE = 7, 1e-6
"""Significant digits from which single precision explains a difference, and how large that is, relatively. The first raised forgives
fewer answers, the second larger differences."""
E_DECIMALS = range(3, 9)
"""Decimals to which e may be rounded. Begun lower, coarser ones are forgiven."""
ROOT_DECIMALS = range(2, 9)
"""Decimals to which a root, or its reciprocal, may be rounded. Begun lower, coarser ones are forgiven."""
CONSTANT_MOVES = 0.05
"""How far a rounded constant moves a step, at most, against its largest number. Raised, more answers are looked at, which takes time."""
NEARLY = 0.03
"""Relative. Exponentials of a row that are all this near to those of scores minus the row's maximum are taken for them. Raised,
exponentials that hold slips are taken for them too."""

# ------------------------------------------------------------------ arrays
LARGEST_TIMES, LARGEST_ULPS = 3.0, 1.0
"""How often the largest error of a plain program, and how many units in the last place of the step's largest number, an array may be
off by. Raised, broken kernels pass; lowered, right ones fail."""
RMS_TIMES, RMS_ULPS = 2.0, 0.25
"""The same for the root mean square error."""
DOUBLE_EPSILON = 2.0**-52
"""What one operation in double precision loses, relatively. Raised, float64 arrays may be farther off."""
SMALL = 2**14
"""Cells of a problem's largest step. Up to this many, a plain program is worked in several ways; raised, checks take longer."""
BLOCK = 2**15
"""Cells of a step that a plain program's sums are added up for at once. Raised, more memory is used; lowered, more time."""

# ------------------------------------------------------------------ classes
FEWEST = 3
"""Submissions. With fewer, nothing is said about how a step separates strong from weak; raised, it is said of bigger classes only."""
