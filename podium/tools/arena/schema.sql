-- One arena: who is compared, on what, by whom, and every vote. `init` fills the first four tables for good.
-- Votes and undos are only ever added: triggers refuse everything else, for every connection.

PRAGMA application_id = 1886350433; -- "poda"
PRAGMA user_version = 3;

-- One row. The id names the session cookie, so that two arenas on one host do not end each other's sessions.
CREATE TABLE arena (id TEXT NOT NULL, closed_at REAL) STRICT;

CREATE TABLE methods (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;

CREATE TABLE cases (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;

CREATE TABLE pictures (
    id INTEGER PRIMARY KEY,
    "case" INTEGER NOT NULL REFERENCES cases,
    place INTEGER NOT NULL,
    key TEXT NOT NULL UNIQUE,
    is_volume INTEGER NOT NULL,
    slices INTEGER NOT NULL,
    width INTEGER NOT NULL,
    height INTEGER NOT NULL,
    pixel_aspect REAL NOT NULL,
    pixel_mm REAL NOT NULL,
    slice_mm REAL NOT NULL,
    value_low REAL NOT NULL,
    value_high REAL NOT NULL,
    window_low REAL NOT NULL,
    window_high REAL NOT NULL,
    mesh_part TEXT NOT NULL, -- '' for all else
    UNIQUE ("case", place)
) STRICT;

CREATE TABLE reports (
    method INTEGER NOT NULL REFERENCES methods,
    "case" INTEGER NOT NULL REFERENCES cases,
    text TEXT NOT NULL, -- '' where the team has none: a missing report is an empty one
    PRIMARY KEY (method, "case")
) STRICT;

CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT; -- what `init` found worth saying

CREATE TABLE raters (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    email TEXT NOT NULL DEFAULT '', -- for the organiser's list alone
    language TEXT NOT NULL DEFAULT '', -- '': as the browser asks
    role TEXT NOT NULL CHECK (role IN ('rater', 'organiser')),
    token_hash TEXT NOT NULL UNIQUE, -- SHA-256: the links themselves are nowhere
    invited_at REAL NOT NULL,
    revoked_at REAL,
    UNIQUE (role, name)
) STRICT;

CREATE TABLE sessions (
    hash TEXT PRIMARY KEY,
    rater INTEGER NOT NULL REFERENCES raters,
    opened_at REAL NOT NULL
) STRICT;

CREATE TABLE matchups (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    rater INTEGER NOT NULL REFERENCES raters,
    position INTEGER NOT NULL CHECK (position <> 0), -- from 1; practice comes before, from -1 downwards, and counts nowhere
    "case" INTEGER NOT NULL REFERENCES cases,
    "left" INTEGER NOT NULL REFERENCES methods,
    "right" INTEGER NOT NULL REFERENCES methods,
    repeat_of INTEGER REFERENCES matchups, -- shown before, with the sides swapped
    replaces INTEGER UNIQUE REFERENCES matchups, -- the same again, after its vote was undone
    UNIQUE (rater, id),
    CHECK ("left" <> "right")
) STRICT;
CREATE UNIQUE INDEX matchup_positions ON matchups (rater, position) WHERE replaces IS NULL;
CREATE INDEX matchups_in_order ON matchups (rater, position);
CREATE INDEX matchup_repeats ON matchups (repeat_of);

CREATE TABLE votes (
    id INTEGER PRIMARY KEY, -- in the order in which they were cast
    rater INTEGER NOT NULL,
    matchup INTEGER NOT NULL,
    answer TEXT NOT NULL CHECK (answer IN ('left', 'right', 'both-good', 'both-bad', 'cannot-judge')),
    reasons TEXT NOT NULL, -- a JSON list of the organiser's tags
    comment TEXT NOT NULL,
    cast_at REAL NOT NULL,
    UNIQUE (rater, matchup),
    FOREIGN KEY (rater, matchup) REFERENCES matchups (rater, id)
) STRICT;
CREATE INDEX votes_of_a_matchup ON votes (matchup);

CREATE TABLE undos (vote INTEGER PRIMARY KEY REFERENCES votes, undone_at REAL NOT NULL) STRICT;

-- INSERT OR REPLACE would delete the older row without asking the triggers for DELETE.
CREATE TRIGGER votes_stay_single BEFORE INSERT ON votes
WHEN EXISTS (SELECT 1 FROM votes WHERE id = NEW.id OR (rater = NEW.rater AND matchup = NEW.matchup))
BEGIN SELECT RAISE(ABORT, 'a vote is cast once'); END;
CREATE TRIGGER votes_stay BEFORE UPDATE ON votes BEGIN SELECT RAISE(ABORT, 'votes are only ever added'); END;
CREATE TRIGGER votes_remain BEFORE DELETE ON votes BEGIN SELECT RAISE(ABORT, 'votes are only ever added'); END;

CREATE TRIGGER undos_stay_single BEFORE INSERT ON undos WHEN EXISTS (SELECT 1 FROM undos WHERE vote = NEW.vote)
BEGIN SELECT RAISE(ABORT, 'a vote is undone once'); END;
CREATE TRIGGER undos_stay BEFORE UPDATE ON undos BEGIN SELECT RAISE(ABORT, 'undos are only ever added'); END;
CREATE TRIGGER undos_remain BEFORE DELETE ON undos BEGIN SELECT RAISE(ABORT, 'undos are only ever added'); END;

-- Nothing counts after the end, whoever writes it.
CREATE TRIGGER closed_to_votes BEFORE INSERT ON votes WHEN EXISTS (SELECT 1 FROM arena WHERE closed_at IS NOT NULL)
BEGIN SELECT RAISE(ABORT, 'the arena is closed'); END;
CREATE TRIGGER closed_to_undos BEFORE INSERT ON undos WHEN EXISTS (SELECT 1 FROM arena WHERE closed_at IS NOT NULL)
BEGIN SELECT RAISE(ABORT, 'the arena is closed'); END;
CREATE TRIGGER closed_for_good BEFORE UPDATE ON arena WHEN OLD.closed_at IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'the arena is closed'); END;

-- What was voted on must stay what it was, also for a connection that forgot to switch foreign keys on.
CREATE TRIGGER matchups_stay BEFORE UPDATE ON matchups BEGIN SELECT RAISE(ABORT, 'a matchup does not change'); END;
CREATE TRIGGER answered_matchups_remain BEFORE DELETE ON matchups
WHEN EXISTS (SELECT 1 FROM votes WHERE matchup = OLD.id)
BEGIN SELECT RAISE(ABORT, 'an answered matchup stays'); END;
CREATE TRIGGER reports_stay BEFORE UPDATE ON reports BEGIN SELECT RAISE(ABORT, 'a report does not change'); END;

-- Grows with every change that the organiser's figures depend on; they are computed again only then.
CREATE TABLE changes (number INTEGER NOT NULL) STRICT;
INSERT INTO changes VALUES (0);
CREATE TRIGGER closing_counts AFTER UPDATE ON arena BEGIN UPDATE changes SET number = number + 1; END;
CREATE TRIGGER vote_counts AFTER INSERT ON votes BEGIN UPDATE changes SET number = number + 1; END;
CREATE TRIGGER undo_counts AFTER INSERT ON undos BEGIN UPDATE changes SET number = number + 1; END;
CREATE TRIGGER invitation_counts AFTER INSERT ON raters BEGIN UPDATE changes SET number = number + 1; END;
CREATE TRIGGER new_link_counts AFTER UPDATE ON raters BEGIN UPDATE changes SET number = number + 1; END;
