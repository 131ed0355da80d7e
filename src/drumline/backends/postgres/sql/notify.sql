-- push: tell other processes which queues have new tasks. It need not survive a crash, so no disk is waited for.
SELECT set_config('synchronous_commit', 'off', true), pg_notify(:channel::text, :message::text)
