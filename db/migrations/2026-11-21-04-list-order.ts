// Gives the lists an order of their own, so that the planner never walks a primary key for them.
import { type Kysely, sql } from 'kysely'

// Where a workspace holds most rows, walking the primary key backwards looks cheapest, and then passes every newer
// row of the others. The primary key cannot give `nulls last`; these indexes and the list queries say it.
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    drop index api_keys_list;
    create index api_keys_list on api_keys (workspace_id, id desc nulls last) where revoked_at is null;
    drop index domains_list;
    create index domains_list on domains (workspace_id, id desc nulls last);
    drop index templates_list;
    create index templates_list on templates (workspace_id, id desc nulls last);
    drop index audiences_list;
    create index audiences_list on audiences (workspace_id, id desc nulls last);

    drop index emails_list;
    create index emails_list on emails (workspace_id, id desc nulls last);
    drop index emails_workflow;
    create index emails_workflow on emails (workflow_id, id desc nulls last)
      where workflow_id is not null;
    drop index emails_execution;
    create index emails_execution on emails (execution_id, id desc nulls last)
      where execution_id is not null;

    drop index contacts_list;
    create index contacts_list on contacts (workspace_id, id desc nulls last);
    drop index automation_events_contact;
    create index automation_events_contact on automation_events (contact_id, id desc nulls last);
    drop index workflows_list;
    create index workflows_list on workflows (workspace_id, id desc nulls last)
      where archived_at is null;
    create index workflows_status on workflows (workspace_id, status, id desc nulls last)
      where archived_at is null;
  `.execute(db)
}
