-- migrate_7.sql - makes of a database of schema version 7 one of version 8, as this program did then; for
-- test_store_migrate.c.
--
-- Version 8 knows the energy of a product.

CREATE TABLE energy (
    device INTEGER NOT NULL REFERENCES device (id),
    problem INTEGER NOT NULL REFERENCES problem (id),
    kernel TEXT NOT NULL,                             -- its name; 'cublaslt': the vendor's best answer
    signature TEXT NOT NULL,                          -- of the kernel; '' of the vendor's
    point TEXT NOT NULL,
    us REAL NOT NULL CHECK (us > 0),                  -- a product's time in the same run, launches without a gap
    joules REAL NOT NULL CHECK (joules > 0),          -- of a product, the whole GPU
    error REAL NOT NULL CHECK (error >= 0),           -- bound of its relative error
    watts REAL NOT NULL CHECK (watts > 0),
    clock_mhz REAL NOT NULL CHECK (clock_mhz >= 0),   -- SM clock at the end; 0: not seen
    launches INTEGER NOT NULL CHECK (launches > 0),
    counted INTEGER NOT NULL CHECK (counted IN (0, 1)), -- 1: by the energy counter; 0: from the power
    at INTEGER NOT NULL,
    PRIMARY KEY (device, problem, kernel, signature, point)
) STRICT, WITHOUT ROWID;
