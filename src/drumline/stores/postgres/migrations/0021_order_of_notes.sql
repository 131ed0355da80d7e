-- What came before what (major 1): notes about a job carry its version, so that an older one is known as such wherever it
-- arrives; and why a task died is remembered with that attempt when its dead letter goes.
ALTER TABLE drumline.job ADD version int4 NOT NULL DEFAULT 0; -- rises with every change of status or counts
ALTER TABLE drumline.attempt ADD reason text; -- only where a dead letter was retried or discarded
