-- migrate_1.sql - makes of a database of schema version 1 one of version 2, as this program did then; for
-- test_store_migrate.c.
--
-- Version 2 knows where a time comes from (trial.provenance, before: predicted 0 or 1) and devices
-- of an arch that is not known (recordings of others).  SQLite changes a CHECK only by making the
-- table anew; the texts below are those of schema.sql at version 2, to the letter.

DROP INDEX trial_of_problem;
ALTER TABLE device RENAME TO device_1;
ALTER TABLE trial RENAME TO trial_1;
CREATE TABLE device (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL CHECK (name <> ''),            -- "NVIDIA H200", or the profile's name
    uuid TEXT NOT NULL,                               -- '' for a profile
    cc INTEGER NOT NULL CHECK (cc >= 0),              -- 90 for sm_90; 0: a recording does not say
    driver INTEGER NOT NULL CHECK (driver >= 0),      -- CUDA version of the driver; 0: a profile
    profile INTEGER NOT NULL CHECK (profile IN (0, 1)), -- 1: nothing can be measured on it
    sms INTEGER NOT NULL CHECK (sms >= 0),            -- multiprocessors
    l2_bytes INTEGER NOT NULL CHECK (l2_bytes >= 0),
    memory_bytes INTEGER NOT NULL CHECK (memory_bytes >= 0),
    clock_mhz REAL NOT NULL CHECK (clock_mhz >= 0),   -- sustained SM clock
    UNIQUE (name, uuid, cc, driver, profile)
) STRICT;
INSERT INTO device SELECT * FROM device_1;
DROP TABLE device_1;
CREATE TABLE trial (
    id INTEGER PRIMARY KEY,
    device INTEGER NOT NULL REFERENCES device (id),
    toolchain INTEGER NOT NULL REFERENCES toolchain (id),
    kernel INTEGER NOT NULL REFERENCES kernel (id),
    problem INTEGER NOT NULL REFERENCES problem (id),
    point TEXT NOT NULL,                              -- "BM=128,BN=64,..."
    warm_l2 INTEGER NOT NULL CHECK (warm_l2 IN (0, 1)), -- 1: operands left in L2
    provenance TEXT NOT NULL CHECK (provenance IN ('measured', 'predicted', 'replayed')),
    sweep INTEGER NOT NULL REFERENCES sweep (id),     -- the run that wrote this row
    status TEXT NOT NULL CHECK (status <> ''),        -- a name of GT_STATUS_MAP (src/trial.h)
    stage INTEGER NOT NULL CHECK (stage BETWEEN 0 AND 3), -- deepest timing stage reached
    us REAL NOT NULL CHECK (us >= 0 AND us < 1e12),   -- median; 0: not timed
    lo_us REAL NOT NULL CHECK (lo_us >= 0 AND lo_us < 1e12), -- 95 % interval of the median
    hi_us REAL NOT NULL CHECK (hi_us >= 0 AND hi_us < 1e12),
    err_u REAL NOT NULL CHECK (err_u >= 0),           -- max |c-ref| / |A||B|, in units of 2^-24
    registers INTEGER NOT NULL CHECK (registers >= 0),
    spill_bytes INTEGER NOT NULL CHECK (spill_bytes >= 0),
    static_shared INTEGER NOT NULL CHECK (static_shared >= 0), -- bytes of a block
    shared_bytes INTEGER NOT NULL CHECK (shared_bytes >= 0),   -- of a block, static + dynamic
    workspace_bytes INTEGER NOT NULL CHECK (workspace_bytes >= 0),
    clock_mhz REAL NOT NULL CHECK (clock_mhz >= 0),   -- SM clock while timing; 0: not seen
    compile_ms REAL NOT NULL CHECK (compile_ms >= 0), -- what the trial cost
    prove_ms REAL NOT NULL CHECK (prove_ms >= 0),
    time_ms REAL NOT NULL CHECK (time_ms >= 0),
    varies INTEGER NOT NULL CHECK (varies IN (0, 1)), -- 1: last bits may differ between launches
    detail TEXT NOT NULL,                             -- why, for people
    samples BLOB NOT NULL CHECK (length(samples) % 4 = 0), -- little-endian float32 microseconds
    at INTEGER NOT NULL,
    UNIQUE (device, toolchain, kernel, problem, warm_l2, provenance, point),
    CHECK (status <> 'ok' OR (us > 0 AND lo_us <= us AND (hi_us >= us OR hi_us = 0)))
) STRICT;
INSERT INTO trial SELECT id, device, toolchain, kernel, problem, point, warm_l2,
    CASE predicted WHEN 0 THEN 'measured' ELSE 'predicted' END, sweep, status, stage, us, lo_us,
    hi_us, err_u, registers, spill_bytes, static_shared, shared_bytes, workspace_bytes, clock_mhz,
    compile_ms, prove_ms, time_ms, varies, detail, samples, at FROM trial_1;
DROP TABLE trial_1;
CREATE INDEX trial_of_problem ON trial (problem);
