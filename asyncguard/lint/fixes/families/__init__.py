"""The rewrites, one family a file: `rewrite(spots)` yields repairs, `ORDER` says who is first."""
