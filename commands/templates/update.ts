// Changes a template; changed content becomes a new version.

import { contentFields, type TemplateRow } from '../../db/templates/reads.ts'
import { insertTemplateVersion, updateTemplate as updateRow } from '../../db/templates/writes.ts'
import type { Reach } from '../../rules/reach.ts'
import type { Refusal } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { checkSender } from '../domains/sender.ts'
import type { InTrx } from '../transact.ts'
import { withAlias } from './alias.ts'
import { checkContent, contentOf, type GivenContent } from './content.ts'
import { checkTemplateReach } from './users.ts'
import { withTemplate } from './withTemplate.ts'

/** Undefined leaves a field as it is. */
export interface TemplateChange extends GivenContent {
  name?: string | undefined
  /** null removes the alias. */
  alias?: string | null | undefined
}

export interface UpdateTemplateInput {
  idOrAlias: string
  change: TemplateChange
}

/** @returns the template's id */
export function updateTemplate(
  deps: CommandDeps,
  reach: Reach,
  { idOrAlias, change }: UpdateTemplateInput,
): Promise<string | Refusal<'template_not_found' | 'alias_taken' | WriteRefusal['code']>> {
  return withAlias(change.alias, () =>
    withTemplate(deps, reach.workspaceId, idOrAlias, (inTrx, stored) =>
      write(inTrx, reach, stored, change),
    ),
  )
}

type WriteRefusal = Refusal<'invalid_template' | 'domain_not_of_key' | 'template_not_of_key'>

async function write(
  { db, now }: InTrx<CommandDeps>,
  reach: Reach,
  stored: TemplateRow,
  change: TemplateChange,
): Promise<string | WriteRefusal> {
  const given = Object.fromEntries(
    contentFields.flatMap((field) => (change[field] === undefined ? [] : [[field, change[field]]])),
  )
  const content = contentOf({ ...stored, ...given })
  const fault = checkContent(content)
  if (fault) return fault
  const foreign =
    (await checkTemplateReach({ db }, reach, stored, change.alias)) ??
    (await checkSender({ db }, reach, content.from))
  if (foreign) return foreign
  const isNew = contentFields.some((field) => content[field] !== stored[field])
  const version = stored.current_version + (isNew ? 1 : 0)
  const at = now()
  if (isNew) {
    await insertTemplateVersion(db, stored.workspace_id, {
      ...content,
      template_id: stored.id,
      version,
      created_at: at,
    })
  }
  await updateRow(db, stored.workspace_id, stored.id, {
    name: change.name ?? stored.name,
    alias: change.alias === undefined ? stored.alias : change.alias,
    current_version: version,
    updated_at: at,
  })
  return stored.id
}
