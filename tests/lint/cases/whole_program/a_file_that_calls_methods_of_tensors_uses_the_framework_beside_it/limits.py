def bounded(value, limits):
    low, high = limits
    return value if low < value < high else low  # clean
