-- GET /v1/api-keys
select "id", "name", "prefix", "permission", "domain_id", "expires_at", "last_used_at", "created_at" from "api_keys" where "workspace_id" = $1 and "revoked_at" is null order by "id" desc nulls last limit $2;
select "id", "name", "prefix", "permission", "domain_id", "expires_at", "last_used_at", "created_at" from "api_keys" where "workspace_id" = $1 and "revoked_at" is null and "id" < $2 order by "id" desc nulls last limit $3;

-- GET /v1/emails
select "id", "workspace_id", "type", "category", "from", "to", "cc", "bcc", "reply_to", "subject", "template_id", "domain_id", "headers", "tags", "metadata", "message_id", "workflow_id", "execution_id", "node_id", "unsubscribe_token", "track_opens", "track_clicks", "tracking_host", "created_at", coalesce(( select true from deliveries d where d.email_id = emails.id and d.settled_at is null limit 1), false) as "open" from "emails" where "workspace_id" = $1 order by "id" desc nulls last limit $2;
select id, email_id, recipient, status, at, data from ( select distinct on (email_id, recipient) id, email_id, recipient, status, at, data, min(id) over (partition by email_id, recipient) as first_id from email_events where workspace_id = $1 and email_id = any($2::text[]) and machine is null order by email_id, recipient, at desc, id desc ) latest order by email_id, first_id;
select "id", "workspace_id", "type", "category", "from", "to", "cc", "bcc", "reply_to", "subject", "template_id", "domain_id", "headers", "tags", "metadata", "message_id", "workflow_id", "execution_id", "node_id", "unsubscribe_token", "track_opens", "track_clicks", "tracking_host", "created_at", coalesce(( select true from deliveries d where d.email_id = emails.id and d.settled_at is null limit 1), false) as "open" from "emails" where "workspace_id" = $1 and "id" < $2 order by "id" desc nulls last limit $3;

-- GET /v1/emails/:id
select "id", "workspace_id", "type", "category", "from", "to", "cc", "bcc", "reply_to", "subject", "template_id", "domain_id", "headers", "tags", "metadata", "message_id", "workflow_id", "execution_id", "node_id", "unsubscribe_token", "track_opens", "track_clicks", "tracking_host", "created_at", case when coalesce(octet_length("html"), 0) + coalesce(octet_length("text"), 0) <= $1 then "html" end as "html", case when coalesce(octet_length("html"), 0) + coalesce(octet_length("text"), 0) <= $2 then "text" end as "text", octet_length("html") as "html_bytes", octet_length("text") as "text_bytes", coalesce(( select true from deliveries d where d.email_id = emails.id and d.settled_at is null limit 1), false) as "open" from "emails" where "workspace_id" = $3 and "id" = $4;
select "id", "email_id", "recipient", "status", "at", "data" from "email_events" where "workspace_id" = $1 and "email_id" = $2 and "machine" is null order by "at", "id";

-- GET /v1/emails/:id/attempts
select "id" from "emails" where "workspace_id" = $1 and "id" = $2;
select * from ( select d.recipient, a.attempt, a.started_at, a.ended_at, a.outcome, a.phase, a.code, a.response, a.host, a.address, a.tls, a.conversation from deliveries d join delivery_attempts a on a.delivery_id = d.id where d.email_id = $1 order by a.started_at desc, d.recipient desc, a.attempt desc limit $2 ) newest order by started_at, recipient, attempt;

-- GET /v1/templates
select "t"."id", "t"."workspace_id", "t"."name", "t"."alias", "t"."current_version", "t"."published_version", "t"."created_at", "t"."updated_at", "v"."subject", "v"."from", "v"."reply_to", "v"."preview_text" from "templates" as "t" inner join "template_versions" as "v" on "v"."template_id" = "t"."id" and "v"."version" = "t"."current_version" where "t"."workspace_id" = $1 order by "t"."id" desc nulls last limit $2;
select "t"."id", "t"."workspace_id", "t"."name", "t"."alias", "t"."current_version", "t"."published_version", "t"."created_at", "t"."updated_at", "v"."subject", "v"."from", "v"."reply_to", "v"."preview_text" from "templates" as "t" inner join "template_versions" as "v" on "v"."template_id" = "t"."id" and "v"."version" = "t"."current_version" where "t"."workspace_id" = $1 and "t"."id" < $2 order by "t"."id" desc nulls last limit $3;

-- GET /v1/templates/:id
select "t"."id", "t"."workspace_id", "t"."name", "t"."alias", "t"."current_version", "t"."published_version", "t"."created_at", "t"."updated_at", "v"."subject", "v"."from", "v"."reply_to", "v"."preview_text", "v"."html", "v"."text" from "templates" as "t" inner join "template_versions" as "v" on "v"."template_id" = "t"."id" and "v"."version" = "t"."current_version" where "t"."workspace_id" = $1 and "t"."id" = $2;

-- GET /v1/audiences
select "a".*, (a."contact_count" + coalesce(( select sum(c."contacts") from audience_changes c where c.audience_id = a.id), 0))::int as "contact_count", (a."unsubscribers" + coalesce(( select sum(c."unsubscribers") from audience_changes c where c.audience_id = a.id), 0))::int as "unsubscribers", "u"."email" as "user_email", "u"."first_name" as "user_first_name", "u"."last_name" as "user_last_name" from "audiences" as "a" inner join "users" as "u" on "u"."id" = "a"."created_by" where "a"."workspace_id" = $1 order by "a"."id" desc nulls last limit $2;
select "a".*, (a."contact_count" + coalesce(( select sum(c."contacts") from audience_changes c where c.audience_id = a.id), 0))::int as "contact_count", (a."unsubscribers" + coalesce(( select sum(c."unsubscribers") from audience_changes c where c.audience_id = a.id), 0))::int as "unsubscribers", "u"."email" as "user_email", "u"."first_name" as "user_first_name", "u"."last_name" as "user_last_name" from "audiences" as "a" inner join "users" as "u" on "u"."id" = "a"."created_by" where "a"."workspace_id" = $1 and "a"."id" < $2 order by "a"."id" desc nulls last limit $3;

-- GET /v1/audiences/:id
select "a".*, (a."contact_count" + coalesce(( select sum(c."contacts") from audience_changes c where c.audience_id = a.id), 0))::int as "contact_count", (a."unsubscribers" + coalesce(( select sum(c."unsubscribers") from audience_changes c where c.audience_id = a.id), 0))::int as "unsubscribers", "u"."email" as "user_email", "u"."first_name" as "user_first_name", "u"."last_name" as "user_last_name" from "audiences" as "a" inner join "users" as "u" on "u"."id" = "a"."created_by" where "a"."workspace_id" = $1 and "a"."id" = $2;

-- GET /v1/audiences/:audienceId/contacts
select "a".*, (a."contact_count" + coalesce(( select sum(c."contacts") from audience_changes c where c.audience_id = a.id), 0))::int as "contact_count", (a."unsubscribers" + coalesce(( select sum(c."unsubscribers") from audience_changes c where c.audience_id = a.id), 0))::int as "unsubscribers", "u"."email" as "user_email", "u"."first_name" as "user_first_name", "u"."last_name" as "user_last_name" from "audiences" as "a" inner join "users" as "u" on "u"."id" = "a"."created_by" where "a"."workspace_id" = $1 and "a"."id" = $2;
select * from "audience_contacts" where "audience_id" = (select "id" from "audiences" where "workspace_id" = $1 and "id" = $2) order by "email" limit $3;
select * from "audience_contacts" where "audience_id" = (select "id" from "audiences" where "workspace_id" = $1 and "id" = $2) and "email" > $3 order by "email" limit $4;

-- GET /v1/domains
select "d".*, "u"."email" as "user_email", "u"."first_name" as "user_first_name", "u"."last_name" as "user_last_name", (select coalesce(json_agg(agg), '[]') from (select "k"."selector", "k"."algorithm", "k"."public_key", "k"."activated_at" is not null as "active" from "domain_keys" as "k" where "k"."domain_id" = "d"."id" and "k"."retired_at" is null order by "k"."id") as agg) as "keys" from "domains" as "d" inner join "users" as "u" on "u"."id" = "d"."created_by" where "d"."deleted_at" is null and "d"."workspace_id" = $1 order by "d"."id" desc nulls last limit $2;
select "d".*, "u"."email" as "user_email", "u"."first_name" as "user_first_name", "u"."last_name" as "user_last_name", (select coalesce(json_agg(agg), '[]') from (select "k"."selector", "k"."algorithm", "k"."public_key", "k"."activated_at" is not null as "active" from "domain_keys" as "k" where "k"."domain_id" = "d"."id" and "k"."retired_at" is null order by "k"."id") as agg) as "keys" from "domains" as "d" inner join "users" as "u" on "u"."id" = "d"."created_by" where "d"."deleted_at" is null and "d"."workspace_id" = $1 and "d"."id" < $2 order by "d"."id" desc nulls last limit $3;

-- GET /v1/domains/:id
select "d".*, "u"."email" as "user_email", "u"."first_name" as "user_first_name", "u"."last_name" as "user_last_name", (select coalesce(json_agg(agg), '[]') from (select "k"."selector", "k"."algorithm", "k"."public_key", "k"."activated_at" is not null as "active" from "domain_keys" as "k" where "k"."domain_id" = "d"."id" and "k"."retired_at" is null order by "k"."id") as agg) as "keys" from "domains" as "d" inner join "users" as "u" on "u"."id" = "d"."created_by" where "d"."deleted_at" is null and "d"."workspace_id" = $1 and "d"."id" = $2;

-- GET /v1/suppressions
select * from "suppressions" where "workspace_id" = $1 and (expires_at is null or expires_at > $2) order by "created_at" desc, "email" desc limit $3;
select * from "suppressions" where "workspace_id" = $1 and (expires_at is null or expires_at > $2) and (created_at, email) < ($3, $4) order by "created_at" desc, "email" desc limit $5;

-- GET /v1/workflows
select * from "workflows" where "workspace_id" = $1 and "archived_at" is null order by "id" desc nulls last limit $2;
select * from "workflows" where "workspace_id" = $1 and "archived_at" is null and "id" < $2 order by "id" desc nulls last limit $3;
select * from "workflows" where "workspace_id" = $1 and "archived_at" is null and "status" = $2 order by "id" desc nulls last limit $3;
select * from "workflows" where "workspace_id" = $1 and "archived_at" is null and "status" = $2 and "id" < $3 order by "id" desc nulls last limit $4;

-- GET /v1/workflows/:id
select "w".*, (select "v"."design" from "workflow_versions" as "v" where "v"."workflow_id" = "w"."id" and "v"."version" = "w"."current_version") as "design" from "workflows" as "w" where "w"."workspace_id" = $1 and "w"."id" = $2 and "w"."archived_at" is null;

-- GET /v1/workflows/:id/versions
select "w".*, (select "v"."design" from "workflow_versions" as "v" where "v"."workflow_id" = "w"."id" and "v"."version" = "w"."current_version") as "design" from "workflows" as "w" where "w"."workspace_id" = $1 and "w"."id" = $2 and "w"."archived_at" is null;
select "workflow_id", "version", "workspace_id", "created_by", "created_at" from "workflow_versions" where "workspace_id" = $1 and "workflow_id" = $2 order by "version" desc limit $3;
select "workflow_id", "version", "workspace_id", "created_by", "created_at" from "workflow_versions" where "workspace_id" = $1 and "workflow_id" = $2 and "version" < $3 order by "version" desc limit $4;

-- GET /v1/workflows/:id/versions/:n
select "w".*, (select "v"."design" from "workflow_versions" as "v" where "v"."workflow_id" = "w"."id" and "v"."version" = "w"."current_version") as "design" from "workflows" as "w" where "w"."workspace_id" = $1 and "w"."id" = $2 and "w"."archived_at" is null;
select * from "workflow_versions" where "workspace_id" = $1 and "workflow_id" = $2 and "version" = $3;

-- GET /v1/workflows/:id/executions
select "id" from "workflows" where "workspace_id" = $1 and "id" = $2;
select "id", "workspace_id", "workflow_id", "version", "contact_id", "email", "ended_status", "current_step_id", "step_count", "error", "cancellation_reason", "created_at", "updated_at", "completed_at", coalesce((select true from outbox o where o.execution_id = executions.id and o.kind = 'start' limit 1), false) and not coalesce((select true from execution_segments s where s.execution_id = executions.id limit 1), false) as "is_pending" from "executions" where "workspace_id" = $1 and workflow_id = $2 and "ended_status" is null order by "created_at" desc, "id" desc limit $3;
select e.* from unnest($1::text[]) as wanted(status) cross join lateral ( select "id", "workspace_id", "workflow_id", "version", "contact_id", "email", "ended_status", "current_step_id", "step_count", "error", "cancellation_reason", "created_at", "updated_at", "completed_at" from executions where workspace_id = $2 and workflow_id = $3 and ended_status = wanted.status and true order by completed_at desc, id desc limit $4 ) as e order by e.completed_at desc, e.id desc limit $5;
select e.* from unnest($1::text[]) as wanted(status) cross join lateral ( select "id", "workspace_id", "workflow_id", "version", "contact_id", "email", "ended_status", "current_step_id", "step_count", "error", "cancellation_reason", "created_at", "updated_at", "completed_at" from executions where workspace_id = $2 and workflow_id = $3 and ended_status = wanted.status and ("completed_at", id) < ($4::timestamptz, $5) order by completed_at desc, id desc limit $6 ) as e order by e.completed_at desc, e.id desc limit $7;
select "id", "workspace_id", "workflow_id", "version", "contact_id", "email", "ended_status", "current_step_id", "step_count", "error", "cancellation_reason", "created_at", "updated_at", "completed_at", coalesce((select true from outbox o where o.execution_id = executions.id and o.kind = 'start' limit 1), false) and not coalesce((select true from execution_segments s where s.execution_id = executions.id limit 1), false) as "is_pending" from "executions" where "workspace_id" = $1 and workflow_id = $2 and "ended_status" is null and coalesce((select true from execution_segments s where s.execution_id = executions.id limit 1), false) order by "created_at" desc, "id" desc limit $3;
select * from "temporal_namespaces" where "name" = $1;

-- GET /v1/workflows/:id/emails
select "id" from "workflows" where "workspace_id" = $1 and "id" = $2;
select m.id, m.subject, coalesce(substring(m."to"[1] from '<([^<>]+)>\s*$'), m."to"[1]) as recipient, m.workflow_id, m.execution_id, m.created_at, coalesce(( select json_agg(json_build_object('status', v.status, 'at', (extract(epoch from v.at) * 1000)::bigint) order by v.at, v.id) from email_events v where v.workspace_id = $1 and v.email_id = m.id and v.machine is null and lower(v.recipient) = lower(coalesce(substring(m."to"[1] from '<([^<>]+)>\s*$'), m."to"[1])) ), '[]') as events from emails m where m.workspace_id = $2 and m.workflow_id = $3 and true order by m.id desc nulls last limit $4;
select m.id, m.subject, coalesce(substring(m."to"[1] from '<([^<>]+)>\s*$'), m."to"[1]) as recipient, m.workflow_id, m.execution_id, m.created_at, coalesce(( select json_agg(json_build_object('status', v.status, 'at', (extract(epoch from v.at) * 1000)::bigint) order by v.at, v.id) from email_events v where v.workspace_id = $1 and v.email_id = m.id and v.machine is null and lower(v.recipient) = lower(coalesce(substring(m."to"[1] from '<([^<>]+)>\s*$'), m."to"[1])) ), '[]') as events from emails m where m.workspace_id = $2 and m.workflow_id = $3 and m.id < $4 order by m.id desc nulls last limit $5;

-- GET /v1/executions/:id
select "id", "workspace_id", "workflow_id", "version", "contact_id", "email", "ended_status", "current_step_id", "step_count", "error", "cancellation_reason", "created_at", "updated_at", "completed_at" from "executions" where "workspace_id" = $1 and "id" = $2;

-- GET /v1/executions/:id/emails
select "id", "workspace_id", "workflow_id", "version", "contact_id", "email", "ended_status", "current_step_id", "step_count", "error", "cancellation_reason", "created_at", "updated_at", "completed_at" from "executions" where "workspace_id" = $1 and "id" = $2;
select m.id, m.subject, coalesce(substring(m."to"[1] from '<([^<>]+)>\s*$'), m."to"[1]) as recipient, m.workflow_id, m.execution_id, m.created_at, coalesce(( select json_agg(json_build_object('status', v.status, 'at', (extract(epoch from v.at) * 1000)::bigint) order by v.at, v.id) from email_events v where v.workspace_id = $1 and v.email_id = m.id and v.machine is null and lower(v.recipient) = lower(coalesce(substring(m."to"[1] from '<([^<>]+)>\s*$'), m."to"[1])) ), '[]') as events from emails m where m.workspace_id = $2 and m.execution_id = $3 order by m.id desc nulls last;

-- GET /v1/executions/:id/steps
select "id", "workspace_id", "workflow_id", "version", "contact_id", "email", "ended_status", "current_step_id", "step_count", "error", "cancellation_reason", "created_at", "updated_at", "completed_at" from "executions" where "workspace_id" = $1 and "id" = $2;
select "seq", "segment", "node_id", "type", "handle", "why", "at" from "execution_steps" where "execution_id" = $1 and (select "workspace_id" from "executions" where "id" = $2) = $3 and "seq" > $4 order by "seq" limit $5;

-- GET /v1/automation/secrets
select "name", "updated_at" from "secrets" where "workspace_id" = $1 order by "name";

-- GET /v1/automation/contacts
select "id", "workspace_id", "email", "event_count", "first_seen", "last_seen", "last_event", "created_at", "updated_at" from "contacts" where "workspace_id" = $1 order by "id" desc nulls last limit $2;
select "id", "workspace_id", "email", "event_count", "first_seen", "last_seen", "last_event", "created_at", "updated_at" from "contacts" where "workspace_id" = $1 and "id" < $2 order by "id" desc nulls last limit $3;

-- GET /v1/automation/contacts/:email
select * from "contacts" where "workspace_id" = $1 and "email" = $2;

-- GET /v1/automation/contacts/:email/executions
select * from "contacts" where "workspace_id" = $1 and "email" = $2;
select "id", "workspace_id", "workflow_id", "version", "contact_id", "email", "ended_status", "current_step_id", "step_count", "error", "cancellation_reason", "created_at", "updated_at", "completed_at", coalesce((select true from outbox o where o.execution_id = executions.id and o.kind = 'start' limit 1), false) and not coalesce((select true from execution_segments s where s.execution_id = executions.id limit 1), false) as "is_pending" from "executions" where "workspace_id" = $1 and contact_id = $2 and "ended_status" is null order by "created_at" desc, "id" desc limit $3;
select e.* from unnest($1::text[]) as wanted(status) cross join lateral ( select "id", "workspace_id", "workflow_id", "version", "contact_id", "email", "ended_status", "current_step_id", "step_count", "error", "cancellation_reason", "created_at", "updated_at", "completed_at" from executions where workspace_id = $2 and contact_id = $3 and ended_status = wanted.status and true order by completed_at desc, id desc limit $4 ) as e order by e.completed_at desc, e.id desc limit $5;
select e.* from unnest($1::text[]) as wanted(status) cross join lateral ( select "id", "workspace_id", "workflow_id", "version", "contact_id", "email", "ended_status", "current_step_id", "step_count", "error", "cancellation_reason", "created_at", "updated_at", "completed_at" from executions where workspace_id = $2 and contact_id = $3 and ended_status = wanted.status and ("completed_at", id) < ($4::timestamptz, $5) order by completed_at desc, id desc limit $6 ) as e order by e.completed_at desc, e.id desc limit $7;
select "id", "workspace_id", "workflow_id", "version", "contact_id", "email", "ended_status", "current_step_id", "step_count", "error", "cancellation_reason", "created_at", "updated_at", "completed_at", coalesce((select true from outbox o where o.execution_id = executions.id and o.kind = 'start' limit 1), false) and not coalesce((select true from execution_segments s where s.execution_id = executions.id limit 1), false) as "is_pending" from "executions" where "workspace_id" = $1 and contact_id = $2 and "ended_status" is null and coalesce((select true from execution_segments s where s.execution_id = executions.id limit 1), false) order by "created_at" desc, "id" desc limit $3;
select * from "temporal_namespaces" where "name" = $1;

-- GET /v1/automation/contacts/:email/events
select * from "contacts" where "workspace_id" = $1 and "email" = $2;
select * from "automation_events" where "workspace_id" = $1 and "contact_id" = $2 order by "id" desc nulls last limit $3;
select * from "automation_events" where "workspace_id" = $1 and "contact_id" = $2 and "id" < $3 order by "id" desc nulls last limit $4;

-- executions that Temporal lists
select "id", "workspace_id", "workflow_id", "version", "contact_id", "email", "ended_status", "current_step_id", "step_count", "error", "cancellation_reason", "created_at", "updated_at", "completed_at" from "executions" where "workspace_id" = $1 and id = any($2::text[]);

-- GET /v1/api-keys, with a key for one domain
select "id", "name", "prefix", "permission", "domain_id", "expires_at", "last_used_at", "created_at" from "api_keys" where "workspace_id" = $1 and "domain_id" = $2 and "revoked_at" is null order by "id" desc nulls last limit $3;

-- GET /v1/emails, with a key for one domain
select "id", "workspace_id", "type", "category", "from", "to", "cc", "bcc", "reply_to", "subject", "template_id", "domain_id", "headers", "tags", "metadata", "message_id", "workflow_id", "execution_id", "node_id", "unsubscribe_token", "track_opens", "track_clicks", "tracking_host", "created_at", coalesce(( select true from deliveries d where d.email_id = emails.id and d.settled_at is null limit 1), false) as "open" from "emails" where "workspace_id" = $1 and "domain_id" = $2 order by "id" desc nulls last limit $3;
select id, email_id, recipient, status, at, data from ( select distinct on (email_id, recipient) id, email_id, recipient, status, at, data, min(id) over (partition by email_id, recipient) as first_id from email_events where workspace_id = $1 and email_id = any($2::text[]) and machine is null order by email_id, recipient, at desc, id desc ) latest order by email_id, first_id;
select "id", "workspace_id", "type", "category", "from", "to", "cc", "bcc", "reply_to", "subject", "template_id", "domain_id", "headers", "tags", "metadata", "message_id", "workflow_id", "execution_id", "node_id", "unsubscribe_token", "track_opens", "track_clicks", "tracking_host", "created_at", coalesce(( select true from deliveries d where d.email_id = emails.id and d.settled_at is null limit 1), false) as "open" from "emails" where "workspace_id" = $1 and "domain_id" = $2 and "id" < $3 order by "id" desc nulls last limit $4;

-- GET /v1/emails/:id, with a key for one domain
select "id", "workspace_id", "type", "category", "from", "to", "cc", "bcc", "reply_to", "subject", "template_id", "domain_id", "headers", "tags", "metadata", "message_id", "workflow_id", "execution_id", "node_id", "unsubscribe_token", "track_opens", "track_clicks", "tracking_host", "created_at", case when coalesce(octet_length("html"), 0) + coalesce(octet_length("text"), 0) <= $1 then "html" end as "html", case when coalesce(octet_length("html"), 0) + coalesce(octet_length("text"), 0) <= $2 then "text" end as "text", octet_length("html") as "html_bytes", octet_length("text") as "text_bytes", coalesce(( select true from deliveries d where d.email_id = emails.id and d.settled_at is null limit 1), false) as "open" from "emails" where "workspace_id" = $3 and "domain_id" = $4 and "id" = $5;
select "id", "email_id", "recipient", "status", "at", "data" from "email_events" where "workspace_id" = $1 and "email_id" = $2 and "machine" is null order by "at", "id";

-- GET /v1/emails/:id/attempts, with a key for one domain
select "id" from "emails" where "workspace_id" = $1 and "domain_id" = $2 and "id" = $3;
select * from ( select d.recipient, a.attempt, a.started_at, a.ended_at, a.outcome, a.phase, a.code, a.response, a.host, a.address, a.tls, a.conversation from deliveries d join delivery_attempts a on a.delivery_id = d.id where d.email_id = $1 order by a.started_at desc, d.recipient desc, a.attempt desc limit $2 ) newest order by started_at, recipient, attempt;

-- GET /v1/domains, with a key for one domain
select "d".*, "u"."email" as "user_email", "u"."first_name" as "user_first_name", "u"."last_name" as "user_last_name", (select coalesce(json_agg(agg), '[]') from (select "k"."selector", "k"."algorithm", "k"."public_key", "k"."activated_at" is not null as "active" from "domain_keys" as "k" where "k"."domain_id" = "d"."id" and "k"."retired_at" is null order by "k"."id") as agg) as "keys" from "domains" as "d" inner join "users" as "u" on "u"."id" = "d"."created_by" where "d"."deleted_at" is null and "d"."workspace_id" = $1 and "d"."id" = $2 order by "d"."id" desc nulls last limit $3;

-- GET /v1/domains/:id, with a key for one domain
select "d".*, "u"."email" as "user_email", "u"."first_name" as "user_first_name", "u"."last_name" as "user_last_name", (select coalesce(json_agg(agg), '[]') from (select "k"."selector", "k"."algorithm", "k"."public_key", "k"."activated_at" is not null as "active" from "domain_keys" as "k" where "k"."domain_id" = "d"."id" and "k"."retired_at" is null order by "k"."id") as agg) as "keys" from "domains" as "d" inner join "users" as "u" on "u"."id" = "d"."created_by" where "d"."deleted_at" is null and "d"."workspace_id" = $1 and "d"."id" = $2 and "d"."id" = $3;

-- GET /v1/suppressions, with a key for one domain
select * from "suppressions" where "workspace_id" = $1 and (expires_at is null or expires_at > $2) order by "created_at" desc, "email" desc limit $3;
select * from "suppressions" where "workspace_id" = $1 and (expires_at is null or expires_at > $2) and (created_at, email) < ($3, $4) order by "created_at" desc, "email" desc limit $5;

-- GET /v1/workflows/:id/emails, with a key for one domain
select "id" from "workflows" where "workspace_id" = $1 and "id" = $2;
select m.id, m.subject, coalesce(substring(m."to"[1] from '<([^<>]+)>\s*$'), m."to"[1]) as recipient, m.workflow_id, m.execution_id, m.created_at, coalesce(( select json_agg(json_build_object('status', v.status, 'at', (extract(epoch from v.at) * 1000)::bigint) order by v.at, v.id) from email_events v where v.workspace_id = $1 and v.email_id = m.id and v.machine is null and lower(v.recipient) = lower(coalesce(substring(m."to"[1] from '<([^<>]+)>\s*$'), m."to"[1])) ), '[]') as events from emails m where m.workspace_id = $2 and m.domain_id = $3 and m.workflow_id = $4 and true order by m.id desc nulls last limit $5;
select m.id, m.subject, coalesce(substring(m."to"[1] from '<([^<>]+)>\s*$'), m."to"[1]) as recipient, m.workflow_id, m.execution_id, m.created_at, coalesce(( select json_agg(json_build_object('status', v.status, 'at', (extract(epoch from v.at) * 1000)::bigint) order by v.at, v.id) from email_events v where v.workspace_id = $1 and v.email_id = m.id and v.machine is null and lower(v.recipient) = lower(coalesce(substring(m."to"[1] from '<([^<>]+)>\s*$'), m."to"[1])) ), '[]') as events from emails m where m.workspace_id = $2 and m.domain_id = $3 and m.workflow_id = $4 and m.id < $5 order by m.id desc nulls last limit $6;

-- GET /v1/executions/:id/emails, with a key for one domain
select "id", "workspace_id", "workflow_id", "version", "contact_id", "email", "ended_status", "current_step_id", "step_count", "error", "cancellation_reason", "created_at", "updated_at", "completed_at" from "executions" where "workspace_id" = $1 and "id" = $2;
select m.id, m.subject, coalesce(substring(m."to"[1] from '<([^<>]+)>\s*$'), m."to"[1]) as recipient, m.workflow_id, m.execution_id, m.created_at, coalesce(( select json_agg(json_build_object('status', v.status, 'at', (extract(epoch from v.at) * 1000)::bigint) order by v.at, v.id) from email_events v where v.workspace_id = $1 and v.email_id = m.id and v.machine is null and lower(v.recipient) = lower(coalesce(substring(m."to"[1] from '<([^<>]+)>\s*$'), m."to"[1])) ), '[]') as events from emails m where m.workspace_id = $2 and m.domain_id = $3 and m.execution_id = $4 order by m.id desc nulls last;

-- GET /v1/automation/contacts/:email/events, with a key for one domain
select * from "contacts" where "workspace_id" = $1 and "email" = $2;
select * from "automation_events" where "workspace_id" = $1 and "contact_id" = $2 order by "id" desc nulls last limit $3;
select * from "automation_events" where "workspace_id" = $1 and "contact_id" = $2 and "id" < $3 order by "id" desc nulls last limit $4;

-- marketing mail that a cap counts
select "created_at" from "deliveries" where "workspace_id" = $1 and "address_hmac" = $2 and "marketing" = true and "to_team" = $3 and "created_at" > $4 and "state" not in ($5, $6) order by "created_at" desc limit $7;

-- segments: those that are kept
select ( select string_agg(s.id || '/' || s.xmin::text, ',' order by s.id) from segments s where s.workspace_id = $1 and s.kept) as keys;
with recursive named (root, id) as ( select s.id, unnest(s.named_ids) from segments s where s.workspace_id = $1 and s.kept union select n.root, unnest(s.named_ids) from named n cross join lateral (select x.id, x.condition, x.named_ids from segments x where x.workspace_id = $2 and x.id = n.id limit 1) as s ), conditions as ( select n.root, json_object_agg(s.id, s.condition) as named from named n cross join lateral (select x.id, x.condition, x.named_ids from segments x where x.workspace_id = $3 and x.id = n.id limit 1) as s group by n.root ) select s.id || '/' || s.xmin::text as key, s.id, s.generation, s.filled, s.condition, coalesce(c.named, '{}') as named from segments s left join conditions c on c.root = s.id where s.workspace_id = $4 and s.kept order by s.id;

-- segments: conditions by way of others
with recursive named (id) as ( select unnest($1::text[]) union select unnest(s.named_ids) from named n cross join lateral (select x.id, x.condition, x.named_ids from segments x where x.workspace_id = $2 and x.id = n.id limit 1) as s ) select s.id, s.condition from named n cross join lateral (select x.id, x.condition, x.named_ids from segments x where x.workspace_id = $3 and x.id = n.id limit 1) as s;

-- segments: what is known of a contact
select "segment_id", "generation", "is_member", "next_look_at" from "segment_members" where "workspace_id" = $1 and "contact_id" = $2 and "segment_id" in ($3, $4, $5);

-- segments: those who are due
with taken as ( update segment_members m set next_look_at = $1::timestamptz where m.ctid = any(array( select d.ctid from segment_members d where d.next_look_at <= $2::timestamptz order by d.next_look_at limit $3 for update skip locked)) returning m.workspace_id, m.contact_id, m.segment_id ) select workspace_id, contact_id, array_agg(segment_id order by segment_id) as segment_ids from taken group by workspace_id, contact_id order by contact_id;

-- segments: a fill that is due
update segment_fills f set next_at = $1::timestamptz, fence = case when f.fence is null or f.fence > pg_snapshot_xmax(pg_current_snapshot()) then pg_snapshot_xmax(pg_current_snapshot()) else f.fence end where f.segment_id = ( select segment_id from segment_fills where next_at <= $2::timestamptz order by next_at limit 1 for update skip locked) returning f.segment_id, f.workspace_id, f.generation, f.after_contact_id, f.fence, f.next_at, f.fence <= pg_snapshot_xmin(pg_current_snapshot()) as is_clear;

-- segments: contacts of a page
select "id" from "contacts" where "workspace_id" = $1 and "id" > $2 order by "id" limit $3;

-- segments: facts of a page
select c.id as contact_id, coalesce(( select json_object_agg(n.name, array( select (extract(epoch from a.at) * 1000)::float8 from automation_events a where a.workspace_id = $1 and a.contact_id = c.id and a.event_name = n.name order by a.at desc limit $2)) from unnest($3::text[]) as n (name)), '{}') as event_times, array( select m.audience_id from audience_contacts m where m.workspace_id = $4 and m.email = c.email and m.audience_id = any($5::text[])) as audiences, exists ( select from segment_members k where k.contact_id = c.id and k.segment_id = $6 and k.workspace_id = $7 and k.generation = $8::int) as is_known from unnest($9::text[], $10::text[]) as c (id, email);

-- segments: members of a page
with given as ( select * from jsonb_to_recordset($1::jsonb) as g (contact_id text, segment_id text, generation int, is_member boolean, next_look_at timestamptz(3), is_row boolean) ), gone as ( delete from segment_members m using given g where not g.is_row and m.workspace_id = $2 and m.contact_id = g.contact_id and m.segment_id = g.segment_id ) insert into segment_members (contact_id, segment_id, workspace_id, generation, is_member, next_look_at) select contact_id, segment_id, $3, generation, is_member, next_look_at from given where is_row order by contact_id, segment_id on conflict (contact_id, segment_id) do update set generation = excluded.generation, is_member = excluded.is_member, next_look_at = excluded.next_look_at;

-- segments: members that are forgotten
delete from "segment_members" where "workspace_id" = $1 and "segment_id" = $2 and "contact_id" in ($3, $4);
