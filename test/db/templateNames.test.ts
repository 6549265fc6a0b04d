// Templates by the names that a design gives them: ids and aliases, each of its own workspace.
import { expect, it } from 'vitest'
import { listPublishedTemplates } from '../../db/templates/published.ts'
import { findTemplateFacts } from '../../db/templates/reads.ts'
import { createTestApi } from '../setup/api.ts'

const api = await createTestApi()
const other = await api.createKey({ workspaceName: 'other' })

async function published(alias: string, authorization = `Bearer ${api.key}`): Promise<string> {
  const body = { name: alias, alias, subject: alias, html: '<p>Hi</p>' }
  const { id } = (
    await api.request<{ id: string }>('POST', '/v1/templates', body, { authorization })
  ).body
  await api.request('POST', `/v1/templates/${id}/publish`, undefined, { authorization })
  return id
}

it('finds each template under every requested name, and none of another workspace', async () => {
  const hello = await published('hello')
  const bye = await published('bye')
  const foreign = await published('foreign', `Bearer ${other.token}`)
  const names = [hello, 'hello', 'bye', 'foreign', foreign, 'tpl_none', '']
  const expected = { [hello]: 'hello', hello: 'hello', bye: 'bye' }
  const sent = await listPublishedTemplates(api.db, api.workspaceId, names)
  expect(Object.fromEntries([...sent].map(([name, { subject }]) => [name, subject]))).toEqual(
    expected,
  )
  const facts = await findTemplateFacts(api.db, api.workspaceId, names)
  expect([...facts.keys()].sort()).toEqual(Object.keys(expected).sort())
  expect([sent.get('bye')?.id, facts.get('bye')?.status]).toEqual([bye, 'published'])
})
