// The class of an email by its row, and what receivers are told of it.
import { expect, test } from 'vitest'
import { automaticOf, feedbackId, mailClass } from '../../../rules/mail/classes.ts'

const workspace_id = 'ws_1'

test.each([
  ['the API', 'transactional', 'transactional', null, 'transactional', 'api', 'no'],
  ['a node of marketing', 'transactional', 'marketing', 'wf_1', 'automation', 'wf_1', 'bulk'],
  [
    'a node of receipts',
    'transactional',
    'transactional',
    'wf_1',
    'transactional',
    'wf_1',
    'single',
  ],
  ['a broadcast', 'broadcast', 'marketing', null, 'broadcast', 'broadcast', 'bulk'],
  ['a broadcast of notices', 'broadcast', 'transactional', null, 'broadcast', 'broadcast', 'bulk'],
] as const)('mail of %s', (_, type, category, workflow_id, kind, source, automatic) => {
  const email = { type, category, workflow_id, workspace_id }
  expect(mailClass(email)).toBe(kind)
  expect(feedbackId(email)).toBe(`${kind}:${source}:ws_1:dripline`)
  expect(automaticOf(email)).toBe(automatic)
})
