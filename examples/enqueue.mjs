// Enqueues in JavaScript, in a transaction of yours:
//
//     npm install pg
//     node enqueue.mjs postgresql://localhost/shop
import pg from 'pg'

const client = new pg.Client({ connectionString: process.argv[2] })
await client.connect()
await client.query("select pgbaton.create_queue('mail')")
await client.query('create table if not exists orders (name text primary key)')

// One job: there when the transaction commits, never when it does not.
await client.query('begin')
await client.query('insert into orders values ($1)', ['order 17'])
const { rows: [job] } = await client.query(
  `select pgbaton.enqueue_job($1, $2, singleton_key => $3, tags => $4, delay => $5,
    backoff_schedule => $6) as id`,
  [
    'mail',
    JSON.stringify({ to: 'ann', lines: ['bread', 'wine'] }), // jsonb
    'order 17',
    ['letter', 'urgent'], // text[]
    '1.5 seconds', // interval
    ['1 minute', '1 hour'], // interval[]
  ],
)
await client.query('commit')
console.log(`job ${job.id} is a ${typeof job.id}`)

// Many: jsonb[], each payload as JSON text.
const payloads = [{ to: 'bob' }, ['a', 'list'], 'a text with "quotes"', null]
const { rows: jobs } = await client.query(
  'select id from pgbaton.enqueue_batch($1, $2, run_at => $3) as id',
  ['mail', payloads.map((payload) => JSON.stringify(payload)), new Date('2030-01-01T12:00:00Z')],
)
console.log(`${jobs.length} more`)
await client.end()
