-- Submitting by SQL (major 1): for triggers, and for programs without an SDK. docs/how-to/transactions.md explains it.
--
-- Each function raises DL002 with a message that begins with the name of the argument at fault.

-- A line of text, as core/names.py has it: not blank, not too long, without control characters.
CREATE FUNCTION drumline.check_line(field text, line text, longest int4) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF line IS NULL OR btrim(line, E' \t\n\r') = '' THEN
        RAISE EXCEPTION '%: must not be blank', field USING ERRCODE = 'DL002';
    ELSIF length(line) > longest THEN
        RAISE EXCEPTION '%: must be at most % characters', field, longest USING ERRCODE = 'DL002';
    ELSIF line ~ E'[\\x01-\\x1f\\x7f-\\x9f]' THEN
        RAISE EXCEPTION '%: must not contain control characters', field USING ERRCODE = 'DL002';
    END IF;
END $$;

-- The slot of an idempotency key: CRC-32 of tenant, NUL and key, as core/slots.py has it.
CREATE FUNCTION drumline.slot_of_key(tenant text, key text) RETURNS int4
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    text_bytes bytea := convert_to(tenant, 'UTF8') || '\x00'::bytea || convert_to(key, 'UTF8');
    crc int8 := 4294967295;
BEGIN
    FOR i IN 0 .. length(text_bytes) - 1 LOOP
        crc := crc # get_byte(text_bytes, i);
        FOR bit IN 1 .. 8 LOOP
            crc := CASE WHEN crc & 1 = 1 THEN (crc >> 1) # 3988292384 ELSE crc >> 1 END;
        END LOOP;
    END LOOP;
    RETURN ((crc # 4294967295) % 4096)::int4;
END $$;

-- A slot of which this database takes new work, and the version of its entry; the first of several by chance.
CREATE FUNCTION drumline.choose_slot(now int8, OUT slot int4, OUT version int4)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT e.slot, e.version INTO choose_slot.slot, choose_slot.version
    FROM (
        SELECT n.slot, coalesce(newest.version, 0) AS version, newest.slot IS NULL AS is_first, newest.closed_at, newest.since
        FROM generate_series(0, 4095) AS n (slot)
        LEFT JOIN (
            SELECT DISTINCT ON (s.slot) s.slot, s.version, s.closed_at, s.since
            FROM drumline.slot_entry AS s
            ORDER BY s.slot, s.version DESC
        ) AS newest ON newest.slot = n.slot
    ) AS e
    WHERE
        CASE
            WHEN e.is_first THEN NOT EXISTS (SELECT FROM drumline.shard_self AS me WHERE me.name <> 'main')
            ELSE e.closed_at IS NULL AND e.since <= choose_slot.now
        END
    ORDER BY random()
    LIMIT 1;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'this database takes no new work' USING ERRCODE = 'DL001';
    END IF;
END $$;

-- Store a task, as a server does: it starts after the commit. Returns its id; with a key that is known, the first task's.
-- What is left out is as the task's code declares it. Runs with the rights of its owner, so that callers need no others.
CREATE FUNCTION drumline.submit(
    name text,
    payload jsonb DEFAULT '{}',
    queue text DEFAULT NULL,
    priority int4 DEFAULT NULL,
    delay interval DEFAULT NULL,
    run_at timestamptz DEFAULT NULL,
    retries int4 DEFAULT NULL,
    timeout interval DEFAULT NULL,
    tags text [] DEFAULT NULL,
    limit_key text DEFAULT NULL,
    expires interval DEFAULT NULL,
    key text DEFAULT NULL,
    tenant text DEFAULT 'default'
) RETURNS uuid
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    now int8 := (extract(EPOCH FROM clock_timestamp()) * 1000)::int8;
    body text := payload::text;
    brackets text;
    declared jsonb;
    quota record;
    waiting int8;
    wanted record;
    a_lane int4;
    due int8;
    options jsonb := '{}';
    a_slot int4;
    a_version int4 := 0;
    an_id uuid;
    known record;
BEGIN
    PERFORM drumline.check_line('name', submit.name, 255);
    IF payload IS NULL THEN
        RAISE EXCEPTION 'payload: must not be NULL' USING ERRCODE = 'DL002';
    ELSIF octet_length(body) > 1048576 THEN
        RAISE EXCEPTION 'payload: is % bytes of JSON; at most 1048576 are accepted', octet_length(body) USING ERRCODE = 'DL002';
    ELSIF length(body) > 200 THEN
        -- Without its texts and all but brackets, one level is taken off in each round.
        brackets := translate(regexp_replace(regexp_replace(body, '"(?:[^"\\]|\\.)*"', '', 'g'), '[^][{}]', '', 'g'), '{}', '[]');
        FOR level IN 1 .. 100 LOOP
            EXIT WHEN brackets = '';
            brackets := replace(brackets, '[]', '');
        END LOOP;
        IF brackets <> '' THEN
            RAISE EXCEPTION 'payload: is nested more than 100 levels deep' USING ERRCODE = 'DL002';
        END IF;
    END IF;
    PERFORM drumline.check_line('tenant', submit.tenant, 64);
    SELECT t.queued, t.payload_bytes INTO quota FROM drumline.tenant AS t WHERE t.name = submit.tenant;
    IF NOT FOUND AND submit.tenant <> 'default' THEN
        RAISE EXCEPTION 'tenant: there is no tenant %', submit.tenant USING ERRCODE = 'DL002';
    ELSIF quota.payload_bytes < octet_length(body) THEN
        RAISE EXCEPTION 'payload: is % bytes of JSON; the quota of tenant % is %', octet_length(body), submit.tenant, quota.payload_bytes
            USING ERRCODE = 'DL002';
    ELSIF quota.queued IS NOT NULL THEN
        SELECT count(*) INTO waiting
        FROM (
            SELECT FROM drumline.task_live AS live
            WHERE
                live.lane = any(ARRAY(SELECT l.id FROM drumline.lane AS l WHERE l.tenant = submit.tenant))
                AND live.due_at IS NOT NULL AND live.state = 1
            LIMIT quota.queued
        ) AS counted;
        IF waiting >= quota.queued THEN
            RAISE EXCEPTION 'tenant % has % tasks waiting, its quota', submit.tenant, quota.queued USING ERRCODE = 'DL002';
        END IF;
    END IF;

    -- What the task's code declares, of the tenant's own workers before those of everybody.
    SELECT t.defaults::jsonb INTO declared
    FROM drumline.task_type AS t
    WHERE t.name = submit.name AND t.tenant IN (submit.tenant, '')
    ORDER BY t.tenant DESC
    LIMIT 1;
    declared := coalesce(declared, '{}');
    SELECT
        coalesce(submit.queue, declared ->> 'queue', 'default') AS queue,
        coalesce(submit.priority, (declared ->> 'priority')::int4, 0) AS priority,
        coalesce(submit.retries, (declared ->> 'retries')::int4, 3) AS retries,
        coalesce(extract(EPOCH FROM submit.timeout), (declared ->> 'timeout')::numeric) AS timeout,
        coalesce(extract(EPOCH FROM submit.expires), (declared ->> 'expires')::numeric) AS expires,
        coalesce(to_jsonb(submit.tags), declared -> 'tags', '[]') AS tags
    INTO wanted;

    IF length(wanted.queue) > 128 OR wanted.queue !~ '^[A-Za-z0-9][A-Za-z0-9_.:@-]*$' OR wanted.queue ~ E'\n' THEN
        RAISE EXCEPTION 'queue: must be at most 128 letters, digits and _ . : @ - only, and start with a letter or digit'
            USING ERRCODE = 'DL002';
    ELSIF wanted.priority NOT BETWEEN -100 AND 100 THEN
        RAISE EXCEPTION 'priority: must be from -100 to 100' USING ERRCODE = 'DL002';
    ELSIF wanted.retries NOT BETWEEN 0 AND 1000 THEN
        RAISE EXCEPTION 'retries: must be from 0 to 1000' USING ERRCODE = 'DL002';
    ELSIF wanted.timeout < 0.001 OR wanted.timeout > 3162240000 THEN
        RAISE EXCEPTION 'timeout: must be more than zero, and at most 100 years' USING ERRCODE = 'DL002';
    ELSIF wanted.expires < 0.001 OR wanted.expires > 31622400 THEN
        RAISE EXCEPTION 'expires: must be more than zero, and at most 366 days' USING ERRCODE = 'DL002';
    ELSIF submit.delay IS NOT NULL AND submit.run_at IS NOT NULL THEN
        RAISE EXCEPTION 'delay: cannot be given together with run_at' USING ERRCODE = 'DL002';
    ELSIF extract(EPOCH FROM submit.delay) NOT BETWEEN 0 AND 3162240000 THEN
        RAISE EXCEPTION 'delay: must be zero or more, and at most 100 years' USING ERRCODE = 'DL002';
    ELSIF extract(EPOCH FROM submit.run_at) NOT BETWEEN 0 AND 253402300799 THEN
        RAISE EXCEPTION 'run_at: must be from 1970 to 9999' USING ERRCODE = 'DL002';
    ELSIF jsonb_array_length(wanted.tags) > 20 THEN
        RAISE EXCEPTION 'tags: must be at most 20' USING ERRCODE = 'DL002';
    END IF;
    FOR i IN 1 .. coalesce(cardinality(submit.tags), 0) LOOP
        PERFORM drumline.check_line(format('tags[%s]', i), submit.tags[i], 64);
    END LOOP;
    IF submit.limit_key IS NOT NULL THEN
        PERFORM drumline.check_line('limit_key', submit.limit_key, 255);
    END IF;
    IF submit.key IS NOT NULL THEN
        PERFORM drumline.check_line('key', submit.key, 255);
    END IF;

    due := coalesce(
        (extract(EPOCH FROM submit.run_at) * 1000)::int8, now + coalesce((extract(EPOCH FROM submit.delay) * 1000)::int8, 0)
    );
    -- As core/task.py writes options: what is the default is left out.
    IF wanted.retries <> 3 THEN
        options := options || jsonb_build_object('retries', wanted.retries);
    END IF;
    IF declared -> 'backoff' IS NOT NULL THEN
        options := options || jsonb_build_object('backoff', declared -> 'backoff');
    END IF;
    IF wanted.timeout IS NOT NULL THEN
        options := options || jsonb_build_object('timeout_ms', round(wanted.timeout * 1000)::int8);
    END IF;
    IF wanted.tags <> '[]' THEN
        options := options || jsonb_build_object('tags', wanted.tags);
    END IF;
    IF submit.limit_key IS NOT NULL THEN
        options := options || jsonb_build_object('limit_key', submit.limit_key);
    END IF;
    IF wanted.expires IS NOT NULL THEN
        options := options || jsonb_build_object('expires_at', due + round(wanted.expires * 1000)::int8);
    END IF;

    SELECT l.id INTO a_lane
    FROM drumline.lane AS l
    WHERE l.name = submit.name AND l.queue = wanted.queue AND l.tenant = submit.tenant AND l.priority = wanted.priority;
    IF NOT FOUND THEN
        INSERT INTO drumline.lane (tenant, queue, name, priority)
        VALUES (submit.tenant, wanted.queue, submit.name, wanted.priority)
        ON CONFLICT DO NOTHING;
        SELECT l.id INTO a_lane
        FROM drumline.lane AS l
        WHERE l.name = submit.name AND l.queue = wanted.queue AND l.tenant = submit.tenant AND l.priority = wanted.priority;
    END IF;

    -- An id: version 7, in the slot of its key, or in one of which this database takes new work (core/ids.py).
    IF EXISTS (SELECT FROM drumline.shard_self) THEN
        IF submit.key IS NOT NULL THEN
            RAISE EXCEPTION 'key: cannot be given where several databases share the work' USING ERRCODE = 'DL002';
        ELSIF current_setting('transaction_isolation') <> 'read committed' THEN
            RAISE EXCEPTION 'the isolation level has to be READ COMMITTED where several databases share the work'
                USING ERRCODE = 'DL002';
        END IF;
        SELECT c.slot, c.version INTO a_slot, a_version FROM drumline.choose_slot(now) AS c;
    ELSIF submit.key IS NOT NULL THEN
        a_slot := drumline.slot_of_key(submit.tenant, submit.key);
    ELSE
        a_slot := floor(random() * 4096)::int4;
    END IF;
    an_id := (
        lpad(to_hex(now), 12, '0') || '7' || substr(md5(random()::text), 1, 3) || '8' || lpad(to_hex(a_slot), 3, '0')
        || substr(replace(gen_random_uuid()::text, '-', ''), 21, 12)
    )::uuid;
    PERFORM drumline.fence(ARRAY[a_slot], ARRAY[a_version], ARRAY[now]);

    IF submit.key IS NOT NULL THEN
        INSERT INTO drumline.idempotency (tenant, key, task_id, fingerprint, due_at)
        VALUES (
            submit.tenant, submit.key, an_id,
            sha256(convert_to(concat_ws(' ', 'drumline.submit', a_lane, options::text, body), 'UTF8')), due
        )
        ON CONFLICT DO NOTHING;
        IF NOT FOUND THEN
            SELECT i.task_id, t.lane, t.payload INTO known
            FROM drumline.idempotency AS i
            LEFT JOIN drumline.task AS t ON t.id = i.task_id
            WHERE i.tenant = submit.tenant AND i.key = submit.key;
            IF known.lane IS NOT NULL AND (known.lane <> a_lane OR convert_from(known.payload, 'UTF8')::jsonb <> submit.payload) THEN
                RAISE EXCEPTION 'key: belongs to task %, which was submitted differently', known.task_id USING ERRCODE = 'DL002';
            END IF;
            RETURN known.task_id;
        END IF;
    END IF;

    INSERT INTO drumline.task (id, lane, payload, options, idempotency_key, due_at, created_at)
    VALUES (an_id, a_lane, convert_to(body, 'UTF8'), nullif(options, '{}')::text, submit.key, due, now);
    INSERT INTO drumline.task_live (id, lane, due_at) VALUES (an_id, a_lane, due);
    INSERT INTO drumline.outbox (lane, at, tasks, acts, states, epochs)
    VALUES (a_lane, now, ARRAY[an_id], '{0}', '{1}', '{0}');
    IF wanted.expires IS NOT NULL THEN
        INSERT INTO drumline.task_expiry (task_id, expires_at) VALUES (an_id, due + round(wanted.expires * 1000)::int8);
    END IF;
    IF due <= now THEN
        PERFORM pg_notify('drumline_wake', format('%s %s=1', right(an_id::text, 12), wanted.queue));
        PERFORM pg_notify('drumline_stored', an_id::text);
    END IF;
    RETURN an_id;
END $$;

-- Whoever may execute it may submit, for every tenant: nobody may unless it is granted.
REVOKE ALL ON FUNCTION drumline.submit FROM public;
