-- Tasks that are cancelled if they have not started by a time (major 1). A row goes when that time has come.
CREATE TABLE drumline.task_expiry (
    task_id uuid NOT NULL,
    expires_at int8 NOT NULL,
    PRIMARY KEY (task_id)
);
CREATE INDEX task_expiry_due ON drumline.task_expiry (expires_at, task_id);
