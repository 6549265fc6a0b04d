// The examples of the domain operations: Acme registers mail.example.com and publishes its records.
import type { z } from '@hono/zod-openapi'
import { exampleIds, exampleOwner, exampleTime } from '../http/exampleIds.ts'
import type {
  CreatedDomain,
  Domain,
  DomainChange,
  DomainDetails,
  DomainList,
  NewDomain,
  RotateDkim,
} from './schemas.ts'

const params = { id: exampleIds.domain }
const name = 'mail.example.com'
const selector = 'drip-fbk2tp0478'
const secondSelector = 'drip-fbk2tp048d'

// Real keys are longer; these have their form.
const publicKey =
  'MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAxk1pQm7wV9yT3cRZ8u4NqL0sHdJ6bEa2fGi5oWvXrDtKzYlQIDAQAB'
const secondPublicKey =
  'MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAt9sUe4JcBx7nWm2kQyR5vL8aHd0ZfGi3oPpTqVrXwDzKYlNQIDAQAB'

/** @param prefix the domain's labels before `example.com`, or '' */
const recordsBelow = (prefix: string, keys: [string, string][]) => [
  ...keys.map(([selector, key]) => ({
    name: `${selector}._domainkey${prefix}`,
    for: 'DKIM' as const,
    type: 'TXT' as const,
    value: `v=DKIM1; k=rsa; p=${key}`,
    required: true,
  })),
  {
    name: `bounces${prefix}`,
    for: 'MAIL FROM domain' as const,
    type: 'MX' as const,
    value: 'mx.example.net',
    required: true,
    priority: 10,
  },
  {
    name: `bounces${prefix}`,
    for: 'MAIL FROM domain' as const,
    type: 'TXT' as const,
    value: 'v=spf1 include:_spf.example.net ~all',
    required: true,
  },
  {
    name: `_dmarc${prefix}`,
    for: 'DMARC (highly recommended)' as const,
    type: 'TXT' as const,
    value: 'v=DMARC1; p=none;',
    required: false,
  },
]

const createdBy = {
  ...exampleOwner,
  profile_picture: `http://127.0.0.1:3000/avatars/${exampleIds.user}.svg`,
}

const firstKey: [string, string] = [selector, publicKey]
const checkedAt = new Date(exampleTime + 90_000).toISOString()

const registered: DomainDetails = {
  id: exampleIds.domain,
  name,
  status: 'NOT_STARTED',
  verified_for_sending_status: false,
  verification_info: {
    last_checked_timestamp: null,
    last_success_timestamp: null,
    error_type: null,
    soa_record: {},
  },
  public_key: publicKey,
  dns_records: recordsBelow('.mail', [firstKey]),
  created: exampleTime,
  is_warmed_up: false,
  warmed_up_at: null,
  created_by: { ...createdBy, type: 'user' },
  open_tracking_enabled: false,
  click_tracking_enabled: false,
  tracking_domain: null,
  record_states: {},
}

const verified: DomainDetails = {
  ...registered,
  status: 'SUCCESS',
  verified_for_sending_status: true,
  verification_info: {
    last_checked_timestamp: checkedAt,
    last_success_timestamp: checkedAt,
    error_type: null,
    soa_record: {
      zone: 'example.com',
      nsname: 'ns.example.com',
      hostmaster: 'hostmaster.example.com',
      serial: 2026110201,
    },
  },
  record_states: {
    mx: 'SUCCESS',
    spf: 'SUCCESS',
    dmarc: 'SUCCESS',
    dkim: { [selector]: 'SUCCESS' },
  },
}

const tracked = { ...verified, open_tracking_enabled: true, click_tracking_enabled: true }

const {
  tracking_domain: _,
  record_states: _states,
  open_tracking_enabled: _opens,
  click_tracking_enabled: _clicks,
  ...listed
} = verified

export const domainExamples = {
  create: {
    body: { name } satisfies z.input<typeof NewDomain>,
    answer: {
      id: exampleIds.domain,
      name,
      status: 'NOT_STARTED',
      dns_records: recordsBelow('', [firstKey]),
    } satisfies z.infer<typeof CreatedDomain>,
  },
  verify: { params, answer: registered },
  get: { params, query: { expand: 'details' }, answer: verified satisfies Domain },
  list: {
    query: {},
    answer: {
      domains: [{ ...listed, created_by: createdBy }],
      count: 1,
      cursor: null,
    } satisfies z.infer<typeof DomainList>,
  },
  change: {
    params,
    body: {
      open_tracking_enabled: true,
      click_tracking_enabled: true,
    } satisfies z.input<typeof DomainChange>,
    answer: tracked,
  },
  rotate: {
    params,
    body: { algorithm: 'rsa' } satisfies z.input<typeof RotateDkim>,
    answer: {
      ...tracked,
      dns_records: recordsBelow('.mail', [firstKey, [secondSelector, secondPublicKey]]),
    },
  },
  remove: { params },
}
