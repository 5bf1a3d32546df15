-- migrate_3.sql - makes of a database of schema version 3 one of version 4, as this program did then; for
-- test_store_migrate.c.
--
-- Version 4 remembers what `tune bench` compared and how each visit of a sweep went.  The text is that
-- of schema.sql at version 4, to the letter.

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
    at INTEGER NOT NULL,
    PRIMARY KEY (device, toolchain, kernel, problem, warm_l2, point)
) STRICT, WITHOUT ROWID;

CREATE TABLE visit (
    id INTEGER PRIMARY KEY,
    device INTEGER NOT NULL REFERENCES device (id),
    problem INTEGER NOT NULL REFERENCES problem (id),
    warm_l2 INTEGER NOT NULL CHECK (warm_l2 IN (0, 1)),
    sweep INTEGER NOT NULL REFERENCES sweep (id),
    kernels TEXT NOT NULL,                            -- that took part: "hopper,mma"
    strategy TEXT NOT NULL,                           -- as named: "auto", "local:walkers=1"
    seed INTEGER NOT NULL,
    known INTEGER NOT NULL CHECK (known >= 0),        -- trials of earlier runs
    trials INTEGER NOT NULL CHECK (trials >= 0),      -- of this visit
    seconds REAL NOT NULL CHECK (seconds >= 0),       -- all of it, finals included
    race_s REAL NOT NULL CHECK (race_s >= 0),         -- before the finals
    busy_s REAL NOT NULL CHECK (busy_s >= 0),         -- GPU worker at work before the finals
    us REAL NOT NULL CHECK (us >= 0),                 -- of the winner in the final; 0: there was none
    baseline_us REAL NOT NULL CHECK (baseline_us >= 0), -- in the same final; 0: there is none
    at INTEGER NOT NULL,                              -- when it ended
    UNIQUE (device, problem, warm_l2, at)
) STRICT;

CREATE TABLE improvement (
    visit INTEGER NOT NULL REFERENCES visit (id),
    place INTEGER NOT NULL CHECK (place >= 0),        -- 0, 1...
    trials INTEGER NOT NULL CHECK (trials >= 0),      -- of this visit by then
    seconds REAL NOT NULL CHECK (seconds >= 0),       -- since its beginning
    us REAL NOT NULL CHECK (us > 0),                  -- as the race timed it: the finals may differ
    PRIMARY KEY (visit, place)
) STRICT, WITHOUT ROWID;
