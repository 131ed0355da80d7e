-- standing: a task's options.
SELECT options FROM task WHERE id = :id
