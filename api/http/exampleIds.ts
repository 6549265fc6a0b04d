// The ids and addresses in the examples of the interface description. They are the same everywhere: one shop, its
// domain mail.example.com, and Ada, who signed up there.

const id = (prefix: string, last: string) => `${prefix}_01M6DQS9M06S0A1QFBK2TP04${last}`

export const exampleIds = {
  apiKey: id('key', '7D'),
  audience: id('aud', '75'),
  audienceContact: id('ac', '77'),
  contact: id('ct', '7C'),
  domain: id('dom', '78'),
  email: id('em', '73'),
  execution: id('exe', '7A'),
  template: id('tpl', '74'),
  user: id('usr', '7H'),
  workflow: id('wf', '79'),
  workspace: id('ws', '7G'),
  /** The mail of Ada's welcome series; it was sent, then delivered. */
  welcomeEmail: id('em', '82'),
  sentEvent: id('evt', '83'),
  deliveredEvent: id('evt', '84'),
  /** Mails of one batch. */
  batchEmail: id('em', '8G'),
  secondBatchEmail: id('em', '8D'),
  /** Grace, whose series was started by hand and cancelled. */
  secondAudienceContact: id('ac', '86'),
  secondExecution: id('exe', '87'),
  workflowCopy: id('wf', '88'),
  templateCopy: id('tpl', '8A'),
  /** The key of a web shop, which may only send. */
  sendingKey: id('key', '8B'),
  testEmail: id('em', '8C'),
  job: id('job', '8F'),
  webhook: id('wh', '8C'),
  webhookEvent: id('msg', '8D'),
  webhookDelivery: id('att', '8E'),
} as const

/** The contact of the examples. */
export const exampleAddress = 'ada@example.com'

/** Another contact, whose series is started by hand. */
export const secondAddress = 'grace@example.com'

/** The user of Acme who made the key. */
export const exampleOwner = {
  email: 'owner@example.com',
  first_name: 'Olga',
  last_name: 'Owens',
}

/** The sender of the examples, on a verified domain. */
export const exampleSender = 'Acme <hello@mail.example.com>'

/** 2 November 2026, 09:00 UTC: when the examples happen. */
export const exampleTime = 1_793_610_000_000
