-- migrate_2.sql - makes of a database of schema version 2 one of version 3, as this program did then; for
-- test_store_migrate.c.
--
-- Version 3 remembers what devices reach.  The text is that of schema.sql at version 3, to the letter.

CREATE TABLE calibration (
    device INTEGER NOT NULL REFERENCES device (id),
    figure TEXT NOT NULL CHECK (figure <> ''),        -- a name of GT_CALIBRATION_MAP (src/calibrate.h)
    value REAL NOT NULL CHECK (value > 0),            -- in the unit given there
    at INTEGER NOT NULL,
    PRIMARY KEY (device, figure)
) STRICT, WITHOUT ROWID;
