-- migrate_2.sql - leads a database of schema version 2 to version 3; embedded by tools/embed.
--
-- Version 3 remembers what devices reach.  The text is that of schema.sql at version 3, to the letter,
-- because a deployed copy is compared with it (db/store_deploy.c).

CREATE TABLE calibration (
    device INTEGER NOT NULL REFERENCES device (id),
    figure TEXT NOT NULL CHECK (figure <> ''),        -- a name of GT_CALIBRATION_MAP (src/calibrate.h)
    value REAL NOT NULL CHECK (value > 0),            -- in the unit given there
    at INTEGER NOT NULL,
    PRIMARY KEY (device, figure)
) STRICT, WITHOUT ROWID;
