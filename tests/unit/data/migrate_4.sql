-- migrate_4.sql - makes of a database of schema version 4 one of version 5, as this program did then; for
-- test_store_migrate.c.
--
-- Version 5 remembers of a comparison what memory alone took.  The text is that of schema.sql at version
-- 5, to the letter.

ALTER TABLE comparison RENAME TO comparison_4;
CREATE TABLE comparison (
    device INTEGER NOT NULL REFERENCES device (id),
    toolchain INTEGER NOT NULL REFERENCES toolchain (id),
    kernel INTEGER NOT NULL REFERENCES kernel (id),
    problem INTEGER NOT NULL REFERENCES problem (id),
    point TEXT NOT NULL,
    warm_l2 INTEGER NOT NULL CHECK (warm_l2 IN (0, 1)),
    us REAL NOT NULL CHECK (us > 0 AND us < 1e12),
    lo_us REAL NOT NULL CHECK (lo_us >= 0 AND lo_us <= us),
    hi_us REAL NOT NULL CHECK (hi_us >= us),
    err_u REAL NOT NULL CHECK (err_u >= 0),
    baseline_us REAL NOT NULL CHECK (baseline_us >= 0), -- of the same rounds; 0: there is none
    copy_gbps REAL NOT NULL CHECK (copy_gbps >= 0),   -- of a copy in the same run; 0: not measured
    move_us REAL NOT NULL CHECK (move_us >= 0),       -- of a kernel that only reads A, B (and C) and writes D; 0: likewise
    at INTEGER NOT NULL,
    PRIMARY KEY (device, toolchain, kernel, problem, warm_l2, point)
) STRICT, WITHOUT ROWID;
INSERT INTO comparison SELECT device, toolchain, kernel, problem, point, warm_l2, us, lo_us, hi_us, err_u,
    baseline_us, copy_gbps, 0, at FROM comparison_4;
DROP TABLE comparison_4;
