// The examples of the template operations: Acme's mail to people who signed up.
import type { z } from '@hono/zod-openapi'
import { exampleAddress, exampleIds, exampleTime } from '../http/exampleIds.ts'
import type {
  NewTemplate,
  RenderedTemplate,
  RenderTemplate,
  Template,
  TemplateChange,
  TemplateList,
} from './schemas.ts'
import type { SentTest, TestTemplate } from './testSchemas.ts'

const params = { id: exampleIds.template }
const html = '<h1>Welcome, {{ contact.first_name }}</h1><p>Your plan: {{ plan }}</p>'
const changedHtml =
  '<h1>Welcome, {{ contact.first_name | default: "friend" }}</h1><p>Your plan: {{ plan }}</p>'

const head = {
  name: 'Welcome',
  alias: 'welcome',
  subject: 'Welcome to Acme',
  from: 'Acme <hello@mail.example.com>',
} as const

const shownHead = {
  id: exampleIds.template,
  ...head,
  reply_to: null,
  preview_text: null,
  status: 'draft',
  current_version: 1,
  published_version: null,
  created: exampleTime,
  updated: exampleTime,
} as const

const changed = { ...shownHead, html: changedHtml, text: null, current_version: 2 }

export const templateExamples = {
  create: {
    body: { ...head, html } satisfies z.input<typeof NewTemplate>,
    answer: { ...shownHead, html, text: null } satisfies Template,
  },
  change: {
    params,
    body: { html: changedHtml } satisfies z.input<typeof TemplateChange>,
    answer: changed satisfies Template,
  },
  render: {
    params,
    body: {
      variables: { plan: 'Pro' },
      email: exampleAddress,
    } satisfies z.input<typeof RenderTemplate>,
    answer: {
      subject: 'Welcome to Acme',
      html: '<h1>Welcome, friend</h1><p>Your plan: Pro</p>',
      text: null,
      missing: [],
    } satisfies z.infer<typeof RenderedTemplate>,
  },
  test: {
    params,
    body: { to: exampleAddress, variables: { plan: 'Pro' } } satisfies z.input<typeof TestTemplate>,
    answer: { id: exampleIds.testEmail } satisfies z.infer<typeof SentTest>,
  },
  publish: {
    params,
    answer: { ...changed, status: 'published', published_version: 2 } satisfies Template,
  },
  get: {
    params,
    answer: { ...changed, status: 'published', published_version: 2 } satisfies Template,
  },
  list: {
    query: {},
    answer: {
      templates: [{ ...shownHead, status: 'published', current_version: 2, published_version: 2 }],
      count: 1,
      cursor: null,
    } satisfies z.infer<typeof TemplateList>,
  },
  duplicate: {
    params,
    answer: {
      ...shownHead,
      id: exampleIds.templateCopy,
      name: 'Welcome (copy)',
      alias: null,
      html: changedHtml,
      text: null,
    } satisfies Template,
  },
  remove: { params: { id: exampleIds.templateCopy } },
}
