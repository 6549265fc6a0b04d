// Makes a template with its first version.

import { insertTemplate } from '../../db/templates/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Refusal } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'
import { withAlias } from './alias.ts'
import { checkContent, contentOf, type GivenContent } from './content.ts'

export interface NewTemplate extends GivenContent {
  name: string
  alias?: string | null | undefined
}

/** @returns the new template's id */
export async function createTemplate(
  deps: CommandDeps,
  workspaceId: WorkspaceId,
  input: NewTemplate,
): Promise<string | Refusal<'invalid_template' | 'alias_taken'>> {
  const content = contentOf(input)
  const fault = checkContent(content)
  if (fault) return fault
  const alias = input.alias ?? null
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
    await transact(deps, ({ db }) => insertTemplate(db, workspaceId, row, content))
    return id
  })
}
