-- migrate_5.sql - makes of a database of schema version 5 one of version 6, as this program did then; for
-- test_store_migrate.c.
--
-- Version 6 remembers how the vendor library's best answer is configured, and of a comparison the untuned
-- answer, the vendor's error and the best of everything.  The text is that of schema.sql at version 6, to
-- the letter.

ALTER TABLE baseline RENAME TO baseline_5;
CREATE TABLE baseline (
    device INTEGER NOT NULL REFERENCES device (id),
    problem INTEGER NOT NULL REFERENCES problem (id),
    warm_l2 INTEGER NOT NULL CHECK (warm_l2 IN (0, 1)),
    sweep INTEGER NOT NULL REFERENCES sweep (id),
    name TEXT NOT NULL,                               -- "cublasLt 13.1.0, answer 3 of 8"
    algo TEXT NOT NULL,                               -- its configuration (db/README.md); '': no candidate
    answers INTEGER NOT NULL CHECK (answers >= 0),    -- heuristic answers timed
    best INTEGER NOT NULL,                            -- index of the fastest
    us REAL NOT NULL CHECK (us > 0 AND us < 1e12),
    lo_us REAL NOT NULL CHECK (lo_us >= 0),
    hi_us REAL NOT NULL CHECK (hi_us >= 0),
    first_us REAL NOT NULL CHECK (first_us >= 0),     -- median of the first answer
    err_u REAL NOT NULL CHECK (err_u >= 0),
    samples BLOB NOT NULL CHECK (length(samples) % 4 = 0),
    at INTEGER NOT NULL,
    PRIMARY KEY (device, problem, warm_l2)
) STRICT, WITHOUT ROWID;
INSERT INTO baseline SELECT device, problem, warm_l2, sweep, name, '', answers, best, us, lo_us, hi_us,
    first_us, err_u, samples, at FROM baseline_5;
DROP TABLE baseline_5;
ALTER TABLE comparison RENAME TO comparison_5;
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
    baseline_err_u REAL NOT NULL CHECK (baseline_err_u >= 0), -- as err_u; 0: not measured
    best_us REAL NOT NULL CHECK (best_us >= 0),       -- of the winner or the vendor's answer, as the sweep chose; 0: it did not
    untuned TEXT NOT NULL,                            -- kernel and point of the answer without this database; '': not timed
    untuned_us REAL NOT NULL CHECK (untuned_us >= 0), -- of the same rounds; 0: not timed
    worse INTEGER NOT NULL CHECK (worse IN (0, 1)),   -- 1: the winner is slower than that, by more than the noise
    at INTEGER NOT NULL,
    PRIMARY KEY (device, toolchain, kernel, problem, warm_l2, point)
) STRICT, WITHOUT ROWID;
INSERT INTO comparison SELECT device, toolchain, kernel, problem, point, warm_l2, us, lo_us, hi_us, err_u,
    baseline_us, copy_gbps, move_us, 0, 0, '', 0, 0, at FROM comparison_5;
DROP TABLE comparison_5;
