// A plugin in JavaScript: one tool that reckons, and one that goes as far as QuickJS goes.

import { log } from 'airlock:plugin/host@0.1.0';

/** A schema of an object with these fields, of which the first must be there. */
const schema = (properties) =>
    JSON.stringify({
        type: 'object',
        properties,
        required: Object.keys(properties).slice(0, 1),
        additionalProperties: false,
    });

const WORD = { type: 'string' };
const NUMBER = { type: 'integer' };

const tool = (name, title, description, inputSchema, outputSchema) => ({
    name,
    title,
    description,
    inputSchema,
    outputSchema,
    risk: 'public-read',
    repeat: 'reads',
    cleanup: 'nothing',
    permissions: [],
    needs: [],
    hidden: [],
    private: [],
    sameAction: [],
    poll: false,
    timeoutMs: undefined,
    costMicros: undefined,
});

/** An error of the contract; what is thrown beside it is an accident. */
const error = (kind, code, message) => ({ kind, code, message });

const primes = ({ below }) => {
    if (below > 100_000) {
        throw error('rejected', 'TOO_MANY', `primes are counted below 100000, and ${below} is more`);
    }
    const sieve = new Uint8Array(Math.max(below, 2)).fill(1);
    let count = 0;
    for (let number = 2; number < below; number++) {
        if (sieve[number] === 0) continue;
        count++;
        for (let multiple = number * number; multiple < below; multiple += number) sieve[multiple] = 0;
    }
    return { count };
};

const down = (depth) => (depth === 0 ? 0 : down(depth - 1) + 1);

const spin = () => {
    for (;;);
};

/** Takes so much memory; where it is refused, what was kept is given up first, so that there is room to say so. */
const grow = (mib) => {
    let kept = [];
    try {
        for (let done = 0; done < mib; done++) kept.push(new Uint8Array(1 << 20).fill(1));
    } catch {
        const given = kept.length;
        kept = null;
        throw error('rejected', 'OUT_OF_MEMORY', `${given} MiB were given`);
    }
    return { done: mib };
};

/** Takes memory, and says nothing where it is refused. */
const hoard = () => {
    const kept = [];
    for (;;) kept.push(new Array(25_000).fill(0));
};

const strain = ({ how, amount = 0 }, context) => {
    switch (how) {
        case 'say':
            log('warn', 'to the log', JSON.stringify({ amount }));
            return { done: amount };
        case 'recurse':
            return { done: down(amount) };
        case 'parse':
            JSON.parse('['.repeat(amount) + ']'.repeat(amount));
            return { done: amount };
        case 'grow':
            return grow(amount);
        case 'hoard':
            return hoard();
        case 'spin':
            return spin();
        case 'fail':
            throw new TypeError('the database at 10.0.0.7 is gone');
        case 'lucky':
            return { own: Math.random(), key: context.idempotencyKey };
        default:
            throw error('invalid-input', 'INVALID_INPUT', `there is no way \`${how}\``);
    }
};

const TOOLS = { primes, strain };

export const tools = {
    describe: () => ({
        name: 'quickjs',
        version: '0.1.0',
        description: 'Reckons, and goes as far as QuickJS goes',
        tools: [
            tool('primes', 'Count primes', 'Counts the primes below a number.', schema({ below: NUMBER }), schema({ count: NUMBER })),
            tool(
                'strain',
                'Strain the interpreter',
                'Does something that is hard on an interpreter, as much of it as it is told to.',
                schema({ how: WORD, amount: NUMBER }),
                JSON.stringify({ type: 'object' }),
            ),
        ],
    }),
    call: (name, input, context) => ({
        data: JSON.stringify(TOOLS[name](JSON.parse(input), context)),
        attachments: [],
        fingerprint: undefined,
        cleanup: undefined,
    }),
};
