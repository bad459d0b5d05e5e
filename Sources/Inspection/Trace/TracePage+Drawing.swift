// SPDX-License-Identifier: Apache-2.0

extension TracePage {
    /// The part of the script that reads the data into trees of calls on one time axis (seconds).
    static let model = #"""
        const $=id=>document.getElementById(id);
        const page=JSON.parse($("data").textContent);
        const state={open:new Map(),focus:null,details:null,aligned:false,isChosen:false,view:null,filter:""};
        let calls=[],rows=[];

        // Text of a peer becomes text of an element and nothing else.
        function el(tag,name,text){
          const e=document.createElement(tag);
          if(name)e.className=name;
          if(text!==undefined)e.textContent=text;
          return e;
        }
        function digits(v){return String(+v.toFixed(v<9.995?2:v<99.95?1:0))}
        // As Duration.text writes it.
        function time(s){
          const us=Math.max(s,0)*1e6;
          if(us<.5)return "0 s";
          if(us<999.5)return Math.round(us)+" µs";
          if(us<999500)return digits(us/1e3)+" ms";
          return digits(s)+" s";
        }
        function bytes(n){
          if(n<1024)return n+" B";
          let u="B";
          for(const next of["KiB","MiB","GiB","TiB"])if(n>=1024){n/=1024;u=next}
          return(n<9.95?n.toFixed(1):n.toFixed(0))+" "+u;
        }
        // Control characters and marks of direction could make a name look like another name.
        function clean(text){
          return String(text).replace(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g,
            c=>"\\u{"+c.codePointAt(0).toString(16)+"}");
        }
        function outcome(s){
          if(s.status!==undefined&&s.outcome==="returned")return String(s.status);
          if(s.outcome==="failed")return clean(s.error);
          if(s.outcome===undefined)return "under way";
          return s.outcome==="returned"?"":s.outcome;
        }
        const isBad=s=>s.outcome==="failed"||s.outcome==="returned"&&s.status>=400;

        function read(traces){
          const begin=Math.min(...traces.map(t=>Date.parse(t.date)));
          return traces.map(t=>{
            const offset=(Date.parse(t.date)-begin)/1e3;
            let last=0;
            for(const s of t.spans)last=Math.max(last,s.start+(s.duration||0));
            const nodes=t.spans.map(s=>({trace:t,span:s,key:t.id+"/"+s.id,children:[],
              offset,start:s.start,end:s.start+(s.duration??Math.max(last-s.start,0))}));
            for(const n of nodes){
              const p=nodes[n.span.parent];
              if(p&&p!==n){p.children.push(n);n.parent=p}
            }
            for(const n of nodes){
              n.level=n.parent?n.parent.level+1:1;
              n.own=gaps(n);
              n.ownTime=n.own.reduce((sum,[a,b])=>sum+b-a,0);
            }
            return nodes[0];
          }).filter(n=>n);
        }
        // The times at which none of the spans inside was under way.
        function gaps(n){
          const list=[];let at=n.start;
          for(const c of[...n.children].sort((a,b)=>a.start-b.start)){
            const from=Math.min(c.start,n.end);
            if(from>at)list.push([at,from]);
            at=Math.max(at,Math.min(c.end,n.end));
          }
          if(at<n.end)list.push([at,n.end]);
          return list;
        }
        function*inside(n){for(const c of n.children){yield c;yield*inside(c)}}

        // True if most calls would be dots on one axis.
        function areSparse(){
          const end=Math.max(...calls.map(c=>c.offset+c.end));
          const times=calls.map(c=>c.end).sort((a,b)=>a-b);
          return calls.length>1&&times[times.length>>1]<end*.05;
        }
        const shift=n=>state.aligned?0:n.offset;
        function whole(){
          // The axis has room for the last bar, however short the bar is.
          return[0,1.01*Math.max(1e-6,...calls.map(c=>shift(c)+c.end))];
        }
        // For a few calls, spans are shown; for many calls, only the calls.
        function isOpen(n){
          if(!n.children.length)return false;
          const chosen=state.open.get(n.key);
          if(chosen!==undefined)return chosen;
          return n.span.kind!=="exchange"&&(n.span.kind!=="call"||calls.length<=8);
        }
        function matches(call){
          const wanted=state.filter.toLowerCase();
          if(!wanted)return true;
          return[call,...inside(call)].some(n=>[n.span.name,n.span.error,n.span.message,n.trace.id,
            n.span.status,n.span.exchange&&n.span.exchange.url].some(text=>
            text!==undefined&&String(text).toLowerCase().includes(wanted)));
        }
        function visible(){
          const list=[];
          const add=n=>{list.push(n);if(isOpen(n))n.children.forEach(add)};
          calls.filter(matches).forEach(add);
          return list;
        }
        function ticks([from,to],count){
          let step=1e-9,factor=0;
          while((to-from)/step>=count){step*=factor++%3===1?2.5:2}
          const list=[];
          for(let at=Math.ceil(from/step-1e-9)*step;at<=to+step*1e-6;at+=step)list.push(at);
          return list;
        }

        """#
}

extension TracePage {
    static let drawing = #"""
        function place(e,from,to){
          const[a,b]=state.view,scale=100/(b-a);
          const left=Math.max((from-a)*scale,0),right=Math.min((to-a)*scale,100);
          if(right<0||left>100)return null;
          e.style.left=left+"%";
          if(to>from||!e.classList.contains("tick"))e.style.width=Math.max(right-left,0)+"%";
          return e;
        }
        function bar(cell,n,from,to,name){
          const e=place(el("div","bar "+name),shift(n)+from,shift(n)+to);
          if(e)cell.append(e);
          return e;
        }
        // The number of marks that have room for their texts.
        function tickCount(){
          const axis=document.querySelector(".head .bars");
          return Math.max(2,Math.floor((axis?axis.clientWidth:$("grid").clientWidth*.45)/80));
        }
        function lineUp(cell){
          for(const at of ticks(state.view,state.marks)){
            const e=el("div","tick");
            if(place(e,at,at))cell.append(e);
          }
        }
        function kindOf(n){
          if(n.span.kind==="phase"||n.span.kind==="body")return PHASES[n.span.name]||"phase";
          return n.span.kind;
        }
        function phases(cell,n){
          bar(cell,n,n.start,n.end,isBad(n.span)?"bad":"exchange");
          for(const c of n.children)bar(cell,n,c.start,c.end,kindOf(c));
          if(isBad(n.span))bar(cell,n,n.start,n.end,"under bad");
          for(const c of n.span.exchange.chunks||[])bar(cell,n,c.start,c.end,"chunk body");
        }
        // A folded span shows the waits and sends inside of it; overlapping ones lie in lanes.
        function folded(cell,n){
          const list=[...inside(n)].filter(c=>c.span.kind==="wait"||c.span.kind==="exchange");
          const lanes=[];
          for(const c of list.sort((a,b)=>a.start-b.start)){
            let lane=lanes.findIndex(end=>end<=c.start+1e-9);
            if(lane<0)lane=lanes.push(0)-1;
            lanes[lane]=Math.max(c.end,c.start);
            c.lane=lane;
          }
          const height=Math.max(14/Math.max(lanes.length,1),2);
          for(const c of list){
            const e=bar(cell,n,c.start,c.end,isBad(c.span)?"bad":c.span.kind);
            if(!e)continue;
            e.style.top=6+c.lane*height+"px";
            e.style.height=Math.max(height-1,1.5)+"px";
          }
        }
        function bars(n){
          const cell=el("div","bars");
          cell.setAttribute("role","gridcell");
          lineUp(cell);
          const kind=isBad(n.span)&&!n.children.length?"bad":kindOf(n);
          if(n.span.kind==="exchange")phases(cell,n);
          else{
            bar(cell,n,n.start,n.end,"inside "+(isBad(n.span)?"bad":kind));
            if(n.children.length&&!isOpen(n))folded(cell,n);
            // Bars of less than a pixel are not drawn; their figure is shown.
            else for(const[from,to]of n.own)if(!n.children.length||
              to-from>(state.view[1]-state.view[0])/400)bar(cell,n,from,to,kind);
            if(!n.own.length&&!n.children.length)bar(cell,n,n.start,n.end,kind);
          }
          if(n.span.duration===undefined)cell.lastChild.classList.add("open");
          return cell;
        }
        function cell(name,text){
          const e=el("div",name,text);
          e.setAttribute("role","gridcell");
          return e;
        }
        function row(n){
          const e=el("div","row "+n.span.kind);
          e.setAttribute("role","row");
          e.setAttribute("aria-level",n.level);
          e.setAttribute("aria-describedby","tip");
          e.setAttribute("aria-selected",state.details===n.key);
          if(n.children.length)e.setAttribute("aria-expanded",isOpen(n));
          e.tabIndex=state.focus===n.key?0:-1;
          e.dataset.key=n.key;
          const name=cell("name");
          name.style.paddingLeft=(n.level-1)*12+"px";
          name.append(el("span","fold",n.children.length?isOpen(n)?"▼":"▶":""));
          name.append(el("span","",clean(n.span.name)));
          e.append(name,cell("outcome"+(isBad(n.span)?" failed":""),outcome(n.span)),
            cell("time",time(n.end-n.start)),cell("own",time(n.ownTime)),bars(n));
          n.row=e;
          return e;
        }
        function head(){
          const e=el("div","row head");
          e.setAttribute("role","row");
          for(const[name,text]of[["name","Span"],["outcome","Outcome"],["time","Time"],
            ["own","Own time"]]){
            const c=el("div",name,text);
            c.setAttribute("role","columnheader");
            e.append(c);
          }
          const axis=el("div","bars");
          axis.setAttribute("role","columnheader");
          axis.setAttribute("aria-label","Time line");
          const list=ticks(state.view,state.marks),[a,b]=state.view;
          for(const at of list){
            const part=(at-a)/(b-a);
            const c=place(el("div","label"+(part<.03?" first":part>.96?" last":""),time(at)),at,at);
            if(c){c.style.width="";axis.append(c)}
          }
          e.append(axis);
          return e;
        }
        function legend(){
          const names=new Map();
          for(const call of calls)for(const n of inside(call)){
            if(n.span.kind==="wait")names.set("wait","wait");
            else if(n.span.kind==="phase"||n.span.kind==="body")names.set(kindOf(n),n.span.name);
            if(isBad(n.span))names.set("bad","failed");
          }
          const order=["wait",...Object.values(PHASES),"phase","bad"];
          $("legend").replaceChildren(...order.filter(k=>names.has(k)).map(k=>{
            const item=el("li");
            item.append(el("i",k),clean(names.get(k)));
            return item;
          }));
        }
        function draw(){
          if(!state.view)state.view=whole();
          rows=visible();
          state.marks=tickCount();
          if(!rows.some(n=>n.key===state.focus))state.focus=rows.length?rows[0].key:null;
          const had=document.activeElement&&document.activeElement.classList.contains("row");
          const grid=$("grid"),top=grid.scrollTop;
          grid.replaceChildren(head(),...rows.map(row));
          grid.setAttribute("aria-rowcount",rows.length+1);
          if(!rows.length)grid.append(el("p","empty",calls.length?"No call matches the filter.":
            "No calls yet."));
          grid.scrollTop=top;
          if(had)focused()?.row.focus({preventScroll:true});
          $("align").setAttribute("aria-pressed",String(Boolean(state.aligned)));
          $("unfold").textContent=calls.some(isOpen)?"Fold":"Unfold";
        }
        const focused=()=>rows.find(n=>n.key===state.focus);
        function summary(note){
          const failed=calls.filter(c=>isBad(c.span)).length;
          const open=calls.filter(c=>!c.trace.isComplete).length;
          const sends=calls.reduce((sum,c)=>sum+c.trace.spans.filter(
            s=>s.kind==="exchange").length,0);
          const omitted=calls.reduce((sum,c)=>sum+c.trace.omitted,0);
          const count=(n,what)=>n+" "+what+(n===1?"":"s");
          $("summary").textContent=[count(calls.length,"call"),count(sends,"exchange"),
            failed?failed+" failed":"",open?open+" under way":"",
            omitted?count(omitted,"span")+" left out":"",note||""].filter(t=>t).join(" · ");
        }

        """#
}
