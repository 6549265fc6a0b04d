// Writes the events that webhooks are told of: triggers on the tables that they tell of, so that each is written in the same transaction,
// whoever writes the row, and without a further statement of theirs.
// Long because it is one function of Postgres for each kind of row.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`set local lock_timeout = '5s'`.execute(db)
  await makeHelpers(db)
  await tellOfMail(db)
  await tellOfContacts(db)
  await tellOfAutomation(db)
}

async function makeHelpers(db: Kysely<unknown>): Promise<void> {
  // What one session writes at once keeps its order, by the 16 bits behind the time.
  await sql`
    create sequence webhook_order cache 100;

    create function webhook_id() returns uuid language sql volatile as $$
      select (lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0')
        || lpad(to_hex(nextval('webhook_order') & 65535), 4, '0')
        || left(r.id, 8) || right(r.id, 8))::uuid
      from (select gen_random_uuid()::text as id) r
    $$;

    create function webhook_ms(at timestamptz) returns bigint language sql immutable as $$
      select (extract(epoch from at) * 1000)::bigint
    $$;

    create function webhook_asked(of_workspace text) returns boolean language plpgsql stable as $$
    begin
      return exists (select from webhooks w where w.workspace_id = of_workspace and w.status = 'enabled');
    end $$;

    create function webhook_names(kind text) returns text[] language sql immutable as $$
      select array[kind, split_part(kind, '.', 1) || '.*', '*']
    $$;

    create function tell_webhooks(of_workspace text, kind text, happened timestamptz, what jsonb, of_domain text)
    returns void language plpgsql volatile as $$
    begin
      with asking as (
        select w.id from webhooks w
        where w.workspace_id = of_workspace and w.status = 'enabled' and w.events && webhook_names(kind)
          and (w.domain_id is null or w.domain_id = of_domain)
      ), event as (
        insert into webhook_events (id, workspace_id, type, at, data)
        select webhook_id(), of_workspace, kind, happened, what where exists (select from asking)
        returning id
      )
      insert into webhook_deliveries (id, webhook_id, event_id, workspace_id, next_at, created_at)
      select webhook_id(), a.id, e.id, of_workspace, clock_timestamp(), clock_timestamp()
      from event e cross join asking a;
    end $$;
  `.execute(db)
}

async function tellOfMail(db: Kysely<unknown>): Promise<void> {
  // Opens and clicks that a machine made are shown to nobody. Metadata that is large is left out.
  await sql`
    create function webhook_email(of_email text, to_address text, happened timestamptz, more jsonb)
    returns jsonb language sql stable as $$
      select jsonb_build_object('email_id', m.id, 'type', m.type, 'recipient', to_address, 'from', m."from",
          'subject', m.subject, 'tags', m.tags,
          'metadata', case when octet_length(m.metadata::text) > 65536 then '{}'::jsonb else m.metadata end,
          'timestamp', webhook_ms(happened))
        || jsonb_strip_nulls(jsonb_build_object('workflow_id', m.workflow_id, 'execution_id', m.execution_id))
        || more
      from emails m where m.id = of_email
    $$;

    create function tell_of_email(kind text, of_email text, to_address text, happened timestamptz)
    returns void language sql volatile as $$
      select tell_webhooks(m.workspace_id, kind, happened,
        webhook_email(m.id, to_address, happened, '{}'), m.domain_id)
      from emails m where m.id = of_email
    $$;

    create function tell_of_email_events() returns trigger language plpgsql as $$
    begin
      if not exists (
        select from (select distinct workspace_id from written) n where webhook_asked(n.workspace_id)
      ) then return null; end if;
      perform tell_webhooks(n.workspace_id, k.kind, n.at, webhook_email(m.id, n.recipient, n.at,
          case when n.status = 'bounced' then jsonb_build_object('bounce', jsonb_strip_nulls(jsonb_build_object(
              'type', n.data->'type', 'subtype', n.data->'subtype', 'response', n.data->'smtp_response')))
            when n.status = 'clicked' then jsonb_build_object('link', n.data->'link')
            else '{}' end), m.domain_id)
      from written n
      join emails m on m.id = n.email_id
      cross join lateral (select 'email.' || case
        when n.status <> 'bounced' then n.status
        when n.data->>'subtype' = 'OnAccountSuppressionList' then 'suppressed'
        when n.data->>'subtype' in ('Unsubscribed', 'Cancelled') then 'cancelled'
        else 'bounced' end as kind) k
      where n.machine is null
      order by n.id;
      return null;
    end $$;
    create trigger tell_of_email_events after insert on email_events
      referencing new table as written
      for each statement execute function tell_of_email_events();

    create function tell_of_deferral() returns trigger language plpgsql as $$
    begin
      perform tell_of_email('email.deferred', d.email_id, d.recipient, new.ended_at)
      from deliveries d where d.id = new.delivery_id and d.state = 'deferred' and webhook_asked(d.workspace_id);
      return null;
    end $$;
    create trigger tell_of_deferral after insert on delivery_attempts
      for each row when (new.outcome <> 'delivered') execute function tell_of_deferral();

    create function tell_of_suppression() returns trigger language plpgsql as $$
    declare
      s suppressions := case when tg_op = 'DELETE' then old else new end;
    begin
      if not webhook_asked(s.workspace_id) then return null; end if;
      if tg_op = 'DELETE' or tg_op = 'INSERT' or new.created_at <> old.created_at then
        perform tell_webhooks(s.workspace_id,
          case when tg_op = 'DELETE' then 'suppression.deleted' else 'suppression.created' end,
          case when tg_op = 'DELETE' then clock_timestamp() else s.created_at end,
          jsonb_build_object('email', s.email, 'reason', s.reason, 'source_id', s.source_id,
            'created', webhook_ms(s.created_at), 'expires_at', webhook_ms(s.expires_at)), null);
      end if;
      return null;
    end $$;
    create trigger tell_of_suppression after insert or update or delete on suppressions
      for each row execute function tell_of_suppression();
  `.execute(db)
}

async function tellOfContacts(db: Kysely<unknown>): Promise<void> {
  // A new contact is told of at the commit, when the event that made it stands in its row.
  await sql`
    create function webhook_contact(c contacts) returns jsonb language sql stable as $$
      select jsonb_build_object('id', c.id, 'email', c.email, 'workspace_id', c.workspace_id,
        'last_seen', webhook_ms(c.last_seen), 'last_event', c.last_event, 'event_count', c.event_count,
        'first_seen', webhook_ms(c.first_seen), 'created_at', webhook_ms(c.created_at),
        'updated_at', webhook_ms(c.updated_at))
    $$;

    create function tell_of_contact() returns trigger language plpgsql as $$
    begin
      if not webhook_asked(coalesce(new.workspace_id, old.workspace_id)) then return null; end if;
      if tg_op = 'DELETE' then
        perform tell_webhooks(old.workspace_id, 'contact.deleted', clock_timestamp(),
          webhook_contact(old) || '{"email": null}', null);
      else
        perform tell_webhooks(c.workspace_id,
          case when tg_op = 'INSERT' then 'contact.created' else 'contact.updated' end, c.updated_at,
          webhook_contact(c), null)
        from contacts c where c.id = new.id;
      end if;
      return null;
    end $$;
    create constraint trigger tell_of_new_contact after insert on contacts
      deferrable initially deferred for each row execute function tell_of_contact();
    create trigger tell_of_changed_contact after update of properties on contacts
      for each row when (old.properties is distinct from new.properties and old.updated_at < new.updated_at)
      execute function tell_of_contact();
    create trigger tell_of_gone_contact after delete on contacts
      for each row execute function tell_of_contact();

    create function tell_of_unsubscribe() returns trigger language plpgsql as $$
    begin
      if not webhook_asked(new.workspace_id) then return null; end if;
      perform tell_of_email('email.unsubscribed', new.properties->>'email_id', new.email, new.at);
      perform tell_webhooks(c.workspace_id, 'contact.unsubscribed', new.at, webhook_contact(c), null)
      from contacts c where c.id = new.contact_id;
      return null;
    end $$;
    create trigger tell_of_unsubscribe after insert on automation_events
      for each row when (new.event_name = 'email.unsubscribed') execute function tell_of_unsubscribe();

    create function tell_of_member() returns trigger language plpgsql as $$
    declare
      a audience_contacts := case when tg_op = 'DELETE' then old else new end;
    begin
      if not webhook_asked(a.workspace_id) then return null; end if;
      perform tell_webhooks(a.workspace_id,
        case when tg_op = 'DELETE' then 'audience.left' else 'audience.joined' end, clock_timestamp(),
        jsonb_build_object('audience_id', a.audience_id, 'id', a.id, 'first_name', a.first_name,
          'last_name', a.last_name, 'email', a.email, 'is_subscribed', a.is_subscribed,
          'created', webhook_ms(a.created_at), 'updated', webhook_ms(a.updated_at), 'properties', a.properties),
        null)
      where exists (select from audiences x where x.id = a.audience_id);
      return null;
    end $$;
    create trigger tell_of_member after insert or delete on audience_contacts
      for each row execute function tell_of_member();
  `.execute(db)
}

async function tellOfAutomation(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function tell_of_workflow() returns trigger language plpgsql as $$
    declare
      kind text := case
        when new.archived_at is not null then 'archived'
        when tg_op = 'INSERT' then case when new.status = 'active' then 'activated' end
        when new.status <> old.status and new.status = 'active' then 'activated'
        when new.status <> old.status and new.status = 'paused' then 'paused'
        else 'updated' end;
    begin
      if kind is null or not webhook_asked(new.workspace_id) then return null; end if;
      perform tell_webhooks(new.workspace_id, 'workflow.' || kind, new.updated_at,
        jsonb_build_object('workflow_id', new.id, 'workspace_id', new.workspace_id, 'name', new.name,
          'status', new.status, 'data', 'workspaces/' || new.workspace_id || '/workflows/' || new.id
            || '/versions/' || new.current_version,
          'created', webhook_ms(new.created_at), 'updated', webhook_ms(new.updated_at),
          'created_by', new.created_by, 'created_by_type', new.created_by_type), null);
      return null;
    end $$;
    create trigger tell_of_workflow after insert or update on workflows
      for each row execute function tell_of_workflow();

    create function webhook_execution(x executions, shown text, step text, steps integer, at timestamptz)
    returns jsonb language sql stable as $$
      select jsonb_build_object('execution_id', x.id, 'workflow_id', x.workflow_id, 'workspace_id', x.workspace_id,
        'version_used', x.version, 'status', shown, 'current_step_id', step, 'email', x.email,
        'step_count', steps, 'created_at', webhook_ms(x.created_at), 'updated_at', webhook_ms(at),
        'completed_at', webhook_ms(x.completed_at), 'error', x.error,
        'cancellation_reason', x.cancellation_reason)
    $$;

    create function tell_of_execution() returns trigger language plpgsql as $$
    begin
      if not webhook_asked(new.workspace_id) then return null; end if;
      perform tell_webhooks(new.workspace_id, 'execution.' || lower(coalesce(new.ended_status, 'started')),
        new.updated_at, webhook_execution(new, coalesce(new.ended_status, 'IN_PROGRESS'), new.current_step_id,
          new.step_count, new.updated_at), null);
      return null;
    end $$;
    create trigger tell_of_new_execution after insert on executions
      for each row execute function tell_of_execution();
    create trigger tell_of_ended_execution after update of ended_status on executions
      for each row when (old.ended_status is null and new.ended_status is not null)
      execute function tell_of_execution();

    create function tell_of_wait() returns trigger language plpgsql as $$
    begin
      perform tell_webhooks(x.workspace_id, 'execution.waiting', new.created_at,
        webhook_execution(x, 'WAITING', new.result->>'step', (new.result->>'step_count')::integer, new.created_at)
          || jsonb_build_object('wait_until', new.result->'next'->'until'), null)
      from executions x where x.id = new.execution_id and webhook_asked(x.workspace_id);
      return null;
    end $$;
    create trigger tell_of_wait after insert on execution_segments
      for each row when (new.result->'next'->>'kind' in ('sleep', 'wait_event', 'wait'))
      execute function tell_of_wait();
  `.execute(db)
}
