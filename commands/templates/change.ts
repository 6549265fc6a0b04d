// Makes and changes templates: content is checked as Liquid and kept in versions that never change.

import type { ApiDeps } from '../../api/http/env.ts'
import { badRequest, conflict } from '../../api/http/errors.ts'
import type { NewTemplate, TemplateChange } from '../../api/templates/schemas.ts'
import { isUniqueViolation } from '../../db/failures.ts'
import {
  contentFields,
  findWorkflowUsingTemplate,
  type TemplateContent,
  type TemplateRow,
} from '../../db/templates/reads.ts'
import {
  deleteTemplate,
  insertTemplate,
  insertTemplateVersion,
  lockTemplate,
  updateTemplate,
} from '../../db/templates/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { checkTemplateParts } from './faults.ts'

type Deps = Pick<ApiDeps, 'db' | 'newId' | 'now'>

/** Who asks, and for which template (id or alias). */
export interface TemplateRef {
  workspaceId: WorkspaceId
  idOrAlias: string
}

/** @throws ApiError 400 `invalid_template`, 409 `alias_taken`; @returns the new template's id */
export async function createTemplate(
  deps: Deps,
  workspaceId: WorkspaceId,
  input: NewTemplate,
): Promise<string> {
  const content = contentOf(input)
  checkContent(content)
  const alias = input.alias ?? null
  const id = deps.newId('template')
  const now = deps.now()
  const row = {
    id,
    workspace_id: workspaceId,
    name: input.name,
    alias,
    current_version: 1,
    published_version: null,
    created_at: now,
    updated_at: now,
  }
  await withAlias(alias, () =>
    deps.db.transaction().execute((trx) => insertTemplate(trx, row, content)),
  )
  return id
}

/**
 * Changes what the body names; changed content becomes a new version.
 * @returns the template's id, undefined when there is none
 */
export function changeTemplate(
  deps: Deps,
  ref: TemplateRef,
  input: TemplateChange,
): Promise<string | undefined> {
  return withAlias(input.alias ?? null, () =>
    deps.db.transaction().execute(async (trx) => {
      const stored = await lockTemplate(trx, ref.workspaceId, ref.idOrAlias)
      if (!stored) return undefined
      const content = contentOf({ ...pickContent(stored), ...given(input) })
      checkContent(content)
      const changed = contentFields.some((field) => content[field] !== stored[field])
      const version = stored.current_version + (changed ? 1 : 0)
      const now = deps.now()
      if (changed) {
        await insertTemplateVersion(trx, {
          ...content,
          template_id: stored.id,
          version,
          workspace_id: ref.workspaceId,
          created_at: now,
        })
      }
      await updateTemplate(trx, stored.id, {
        name: input.name ?? stored.name,
        alias: input.alias === undefined ? stored.alias : input.alias,
        current_version: version,
        updated_at: now,
      })
      return stored.id
    }),
  )
}

/**
 * Makes the current version the one that is sent.
 * @throws ApiError 400 `template_empty` when it has neither html nor text
 */
export function publishTemplate(deps: Deps, ref: TemplateRef): Promise<string | undefined> {
  return deps.db.transaction().execute(async (trx) => {
    const stored = await lockTemplate(trx, ref.workspaceId, ref.idOrAlias)
    if (!stored) return undefined
    if (!stored.html && !stored.text) {
      throw badRequest('The template has neither html nor text', 'template_empty')
    }
    await updateTemplate(trx, stored.id, {
      published_version: stored.current_version,
      updated_at: deps.now(),
    })
    return stored.id
  })
}

/**
 * Deletes a template with its versions. Mail that was sent with it keeps its content.
 * @throws ApiError 409 `template_in_use` while an active workflow sends it
 */
export function removeTemplate(deps: Deps, ref: TemplateRef): Promise<boolean> {
  return deps.db.transaction().execute(async (trx) => {
    const stored = await lockTemplate(trx, ref.workspaceId, ref.idOrAlias)
    if (!stored) return false
    const user = await findWorkflowUsingTemplate(trx, stored)
    if (user) {
      throw conflict(`Workflow ${user.id} sends this template; pause it first`, 'template_in_use')
    }
    await deleteTemplate(trx, stored.id)
    return true
  })
}

/** What a copy of a template begins with: the content of its current version, no alias. */
export function copyOf(row: TemplateRow, nameCharsMax: number): NewTemplate {
  const suffix = ' (copy)'
  const name = row.name.slice(0, nameCharsMax - suffix.length) + suffix
  return { name, ...pickContent(row) }
}

function pickContent(row: TemplateContent): TemplateContent {
  const { subject, from, reply_to, preview_text, html, text } = row
  return { subject, from, reply_to, preview_text, html, text }
}

/** Without the keys that the body did not name. */
function given(input: TemplateChange): Partial<TemplateChange> {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined))
}

/** An empty text counts as missing. */
function contentOf(input: TemplateChange): TemplateContent {
  return {
    subject: input.subject || null,
    from: input.from || null,
    reply_to: input.reply_to || null,
    preview_text: input.preview_text || null,
    html: input.html || null,
    text: input.text || null,
  }
}

function checkContent({ subject, html, text, preview_text }: TemplateContent): void {
  checkTemplateParts({ subject, html, text, preview_text })
}

async function withAlias<T>(alias: string | null, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (err) {
    if (!isUniqueViolation(err, 'templates_workspace_id_alias_key')) throw err
    throw conflict(`The alias ${alias} is taken`, 'alias_taken')
  }
}
