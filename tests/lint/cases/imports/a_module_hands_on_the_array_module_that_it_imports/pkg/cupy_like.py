from numpy import asarray, sum


class xp:
    asarray, sum = asarray, sum
