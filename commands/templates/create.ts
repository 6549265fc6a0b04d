// Makes a template with its first version.

import { insertTemplate } from '../../db/templates/writes.ts'
import type { Reach } from '../../rules/reach.ts'
import type { Refusal } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { checkSender } from '../domains/sender.ts'
import { transact } from '../transact.ts'
import { withAlias } from './alias.ts'
import { checkContent, contentOf, type GivenContent } from './content.ts'
import { checkAliasReach } from './users.ts'

export interface NewTemplate extends GivenContent {
  name: string
  alias?: string | null | undefined
}

/** @returns the new template's id */
export async function createTemplate(
  deps: CommandDeps,
  reach: Reach,
  input: NewTemplate,
): Promise<
  string | Refusal<'invalid_template' | 'alias_taken' | 'domain_not_of_key' | 'template_not_of_key'>
> {
  const content = contentOf(input)
  const fault = checkContent(content)
  if (fault) return fault
  const foreign = await checkSender(deps, reach, content.from)
  if (foreign) return foreign
  const alias = input.alias ?? null
  const used = alias === null ? undefined : await checkAliasReach(deps, reach, alias)
  if (used) return used
  const id = deps.newId('template')
  const now = deps.now()
  const row = {
    id,
    name: input.name,
    alias,
    current_version: 1,
    published_version: null,
    created_at: now,
    updated_at: now,
  }
  return withAlias(alias, async () => {
    await transact(deps, ({ db }) => insertTemplate(db, reach.workspaceId, row, content))
    return id
  })
}
